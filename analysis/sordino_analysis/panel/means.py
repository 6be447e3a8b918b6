"""Means over what devices of some periods reported, with errors about them and about the devices that were active."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.estimation.linear_estimate import AnswerErrors
from sordino_analysis.evaluation.accumulate import Aggregate


class Mean(Protocol):
    """Answers (Q,) with two variances (Q,): `noise` about reporters, `sampling` more about the active devices."""

    @property
    def answers(self) -> Floats:
        """(Q,) unbiased."""

    @property
    def noise(self) -> Floats:
        """(Q,) variances about the devices that reported."""

    @property
    def sampling(self) -> Floats:
        """(Q,) what is added about the active devices, since each answers with chance 1/T: (1 − 1/T)·f(1 − f)/n."""

    def interval(self, quantile: float) -> Floats:
        """(Q, 2) about the devices that reported."""

    def population_interval(self, quantile: float) -> Floats:
        """(Q, 2) about the active devices."""


@dataclass(frozen=True, eq=False)
class PooledMean:
    """Counts of some periods added up and decoded once; a share `unasked` of the active devices had no turn."""

    answers: Floats
    errors: AnswerErrors
    unasked: float

    @classmethod
    def of(cls, estimator: LinearEstimator, aggregate: Aggregate, slots: int, level: float) -> PooledMean:
        """Raises EstimationError where there are no reports, or sums of another plan."""
        answers = estimator.unbiased(aggregate)
        nearest = estimator.nearest(answers, aggregate.count)
        errors = estimator.errors_among(nearest, aggregate.count, level, estimator.analyst.figures.bias_bound)
        return cls(answers, errors, 1 - 1 / slots)

    @property
    def noise(self) -> Floats:
        """(Q,) as in `Mean`."""
        return self.errors.standard**2

    @property
    def sampling(self) -> Floats:
        """(Q,) as in `Mean`, smoothed as the population errors of one round are."""
        return self.unasked * (self.errors.of_population**2 - self.noise)

    def interval(self, quantile: float) -> Floats:
        """(Q, 2) of the answers whose own errors reach the estimate, as those of one round."""
        return np.column_stack(self.errors.widened(self.answers, quantile))

    def population_interval(self, quantile: float) -> Floats:
        """(Q, 2) as `interval`, and no narrower than ± `quantile` standard errors of the estimate."""
        errors = self.errors
        curvature = self.unasked * errors.sampled.curvature(zero_one=errors.zero_one)
        low, high = errors.widened(self.answers, quantile, curvature)
        even = np.where(errors.variances <= 0, 0.0, quantile * np.sqrt(self.noise + self.sampling) + errors.bias)
        return np.column_stack([np.minimum(low, self.answers - even), np.maximum(high, self.answers + even)])


@dataclass(frozen=True, eq=False)
class WeightedMean:
    """Σ w_i ĥ_i over periods, whose errors are independent: the variance is Σ w_i² Var_i, in `noise` and `sampling`.

    All arrays (Q,); no answer's bias exceeds `bias`.
    """

    answers: Floats
    noise: Floats
    sampling: Floats
    bias: float

    @classmethod
    def of(cls, weights: Mapping[int, float], periods: Mapping[int, PooledMean]) -> WeightedMean:
        """The sum over the periods of `weights`, which name at least one."""
        w = np.array(list(weights.values()))
        chosen = [periods[index] for index in weights]
        return cls(
            w @ np.array([one.answers for one in chosen]),
            w**2 @ np.array([one.noise for one in chosen]),
            w**2 @ np.array([one.sampling for one in chosen]),
            float(np.abs(w).sum()) * chosen[0].errors.bias,
        )

    def interval(self, quantile: float) -> Floats:
        """(Q, 2) ± `quantile` standard errors."""
        return self._around(self.noise, quantile)

    def population_interval(self, quantile: float) -> Floats:
        """(Q, 2) ± `quantile` standard errors."""
        return self._around(self.noise + self.sampling, quantile)

    def _around(self, variances: Floats, quantile: float) -> Floats:
        half = quantile * np.sqrt(variances) + np.where(variances > 0, self.bias, 0.0)
        return np.column_stack([self.answers - half, self.answers + half])
