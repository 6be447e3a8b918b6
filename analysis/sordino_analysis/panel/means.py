"""Means over what devices of some periods reported, with errors about them and about the devices that were active."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.consistency import NearestHistogram
from sordino_analysis.estimation.intervals import bent, normal_quantile, smoothed
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.estimation.linear_estimate import AnswerErrors
from sordino_analysis.estimation.normality import Normality
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.contribution_law import ContributionLaw, Moments
from sordino_analysis.evaluation.linear_answers import root_fits
from sordino_analysis.panel.exact_ends import Term, are_few, coverage_of_terms, truths_not_ruled_out
from sordino_analysis.panel.random_reports import RandomReports, coverage_of_error

Law = ContributionLaw | Moments


class MeanPart(Protocol):
    """Answers (Q,) with an error of their own, independent of those of other parts."""

    @property
    def answers(self) -> Floats:
        """(Q,) unbiased."""

    @property
    def noise(self) -> Floats:
        """(Q,) variances about the devices that reported."""

    @property
    def drawn(self) -> Floats:
        """(Q,) variances of the reporters as independent draws."""

    @property
    def users(self) -> int:
        """How many reports the answers come from."""

    @property
    def bias(self) -> float:
        """No answer's bias exceeds it."""

    @property
    def level(self) -> float:
        """The level at which `normality` is judged."""

    @property
    def is_judged(self) -> bool:
        """Whether it is worked out how often intervals hold."""

    def scored(self, quantile: float, unasked: float) -> Floats:
        """(Q, 2) what is `quantile` standard errors from the answers, a factor `unasked` of `drawn` included."""

    def terms(self, query: int, weight: float) -> list[Term] | None:
        """The answer to a query times a weight, as a sum; None where its law is not listed."""

    def root(self, *, sampled: bool) -> Floats | None:
        """A (Q, r) with A·Aᵀ the covariance of the answers, about the reporters or what they are `sampled` from.

        None where it is too large or not known.
        """


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
        """(Q,) what is added about the active devices, of whom each answers with chance 1/T."""

    def interval(self, quantile: float) -> Floats:
        """(Q, 2) about the devices that reported."""

    def population_interval(self, quantile: float) -> Floats:
        """(Q, 2) about the active devices."""

    def band(self, quantile: float) -> Floats:
        """(Q, 2) about the devices that reported, at the small level of one of many points."""

    @property
    def normality(self) -> tuple[Normality | None, ...]:
        """(Q,) how often intervals at the estimate's level hold; None where the law of a report is not known."""

    @property
    def parts(self) -> Sequence[tuple[float, MeanPart]]:
        """The weighted parts that the answers are the sum of."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PooledMean:
    """Counts of some periods added up and decoded once; a share `unasked` of the active devices had no turn.

    `laws` are of every query, or of none where they are not known or would take too long; `judged` says whether
    `normality` is worked out from them. A shuffler's `random` reports are among those of a shuffled round.
    """

    estimator: LinearEstimator
    answers: Floats
    nearest: NearestHistogram
    errors: AnswerErrors
    unasked: float
    laws: Sequence[Law]
    judged: bool
    random: RandomReports | None = None

    @classmethod
    def of(
        cls,
        estimator: LinearEstimator,
        aggregate: Aggregate,
        slots: int,
        level: float,
        *,
        lawful: bool = True,
        judged: bool = True,
    ) -> PooledMean:
        """Raises EstimationError where there are no reports, or sums of another plan."""
        answers, users = estimator.unbiased(aggregate), estimator.users(aggregate)
        nearest = estimator.nearest(answers, users)
        errors = estimator.errors_among(nearest, users, level, estimator.analyst.figures.bias_bound)
        laws = estimator.contribution_laws(nearest.histogram) if lawful else []
        return cls(
            estimator=estimator,
            answers=answers,
            nearest=nearest,
            errors=errors,
            unasked=1 - 1 / slots,
            laws=laws,
            judged=judged and lawful,
            random=RandomReports.of(estimator) if lawful and estimator.blanket else None,
        )

    @property
    def users(self) -> int:
        """How many reports were added up."""
        return self.errors.users

    @property
    def bias(self) -> float:
        """As in `MeanPart`."""
        return self.errors.bias

    @property
    def level(self) -> float:
        """As in `MeanPart`."""
        return self.errors.level

    @property
    def is_judged(self) -> bool:
        """As in `MeanPart`."""
        return self.judged and bool(self.laws)

    @property
    def parts(self) -> Sequence[tuple[float, MeanPart]]:
        """As in `Mean`: itself."""
        return ((1.0, self),)

    @property
    def noise(self) -> Floats:
        """(Q,) as in `Mean`."""
        return self.errors.standard**2

    @cached_property
    def drawn(self) -> Floats:
        """(Q,) variances of the reporters as independent draws, smoothed as the population errors of one round are."""
        return np.asarray(self.errors.of_population**2 - self.noise)

    @property
    def sampling(self) -> Floats:
        """(Q,) as in `Mean`: (1 − 1/T)·f(1 − f)/n of a share."""
        return self.unasked * self.drawn

    def interval(self, quantile: float) -> Floats:
        """(Q, 2) of the answers whose own errors reach the estimate, as those of one round."""
        return self._scored(quantile, 0.0)

    def population_interval(self, quantile: float) -> Floats:
        """(Q, 2) as `interval`, and no narrower than ± `quantile` standard errors of the estimate."""
        return self._scored(quantile, self.unasked)

    def band(self, quantile: float) -> Floats:
        """(Q, 2) from the law of a report where few events make up an error, and no narrower than the interval."""
        low, high = self.interval(normal_quantile(self.errors.level)).T
        ends = WeightedMean([(1.0, self)], self.unasked).band(quantile)
        return np.column_stack([np.minimum(ends[:, 0], low), np.maximum(ends[:, 1], high)])

    @cached_property
    def normality(self) -> tuple[Normality | None, ...]:
        """(Q,) as of one round; where all active devices answer, what holds for reporters holds for them."""
        if not self.is_judged:
            return (None,) * len(self.answers)
        if self.random is not None:
            return self._judged_among(self.random)
        found = self.estimator.normality(self.nearest, self.errors, self.laws)
        if self.unasked > 0:
            return tuple(found)
        return tuple(Normality.of_coverages(one.coverage, one.coverage, self.users, self.errors.level) for one in found)

    def terms(self, query: int, weight: float) -> list[Term] | None:
        """The answer to a query times a weight, as a sum; None where its law is not listed."""
        law = self._listed[query] if self.laws else None
        added = None if self.random is None else self.random.term(query, weight, self.users)
        if law is None or (added is None and self.random is not None):
            return None
        return [Term(weight, self.users, law), *([] if added is None else [added])]

    def root(self, *, sampled: bool) -> Floats | None:
        """A (Q, r) as in `MeanPart`, of plausible users."""
        plausible = smoothed(self.nearest.histogram, self.users, normal_quantile(self.level))
        spread = self.estimator.shrunk(plausible, self.answers, self.noise)
        noise, operator = self.estimator.law.covariance_root(spread), self.estimator.workload.operator
        if noise is None or not sampled:
            return None if noise is None else noise / math.sqrt(self.users)
        if not root_fits(*operator.shape):
            return None
        around = operator.dense() - operator.matvec(spread)[:, None]
        return np.hstack([noise, around * np.sqrt(spread)]) / math.sqrt(self.users)

    def scored(self, quantile: float, unasked: float) -> Floats:
        """(Q, 2) as intervals, with a factor `unasked` of the variance as independent draws; 0 about reporters.

        The quantile is bent as skewness and kurtosis ask for where laws are known by their moments.
        """
        return self._scored(self._bent(quantile), unasked)

    def _judged_among(self, random: RandomReports) -> tuple[Normality | None, ...]:
        """(Q,) by the law of the sum of users' and random reports; of laws that are moments, by those of the sum."""
        z, level = normal_quantile(self.level), self.level
        reaches = self.estimator.reaches(self.nearest, self.errors, z)
        found = []
        for query, (law, reach) in enumerate(zip(self.laws, reaches, strict=True)):
            moments = law if isinstance(law, Moments) else law.moments
            errors = [random.error(query, self.users, one) for one in (moments.of_reporters, moments.of_population)]
            widths = [reach.errors * math.sqrt(error.variance) for error in errors]
            widths[1] = max(widths[1], reach.drawn)
            terms = self.terms(query, 1.0)
            held = [
                coverage_of_error(terms, error, width, reach.scatter, sampled=sampled)
                for error, width, sampled in zip(errors, widths, (False, True), strict=True)
            ]
            found.append(Normality.of_coverages(held[0], held[1 if self.unasked > 0 else 0], self.users, level))
        return tuple(found)

    @cached_property
    def _listed(self) -> list[ContributionLaw | None]:
        """(Q,) laws of the queries' own, moved to the answer and stretched to the error where they are of others."""
        listed = [law if isinstance(law, ContributionLaw) else None for law in self.laws]
        answers = self.estimator.workload.operator.matvec(self.nearest.histogram)
        variances = self.estimator.law_of_reports.mixed_variances(self.nearest.histogram)
        triples = zip(listed, answers.tolist(), variances.tolist(), strict=True)
        return [None if law is None else law.moved_to(answer, variance) for law, answer, variance in triples]

    def _bent(self, quantile: float) -> Floats | float:
        """The quantile (Q,) moved as skewness and kurtosis ask for, where laws are known by their moments."""
        if not any(isinstance(law, Moments) for law in self.laws):
            return quantile
        of_report = [(law if isinstance(law, Moments) else law.moments).of_reporters for law in self.laws]
        errors = [
            one.of_mean(self.users) if self.random is None else self.random.error(query, self.users, one)
            for query, one in enumerate(of_report)
        ]
        skewness = np.array([error.skewness for error in errors])
        excess = np.array([error.excess_kurtosis for error in errors])
        either = [np.abs(bent(np.full(len(errors), side * quantile), skewness, excess)) for side in (1, -1)]
        return np.asarray(np.maximum(quantile, np.maximum(*either)))

    def _scored(self, quantile: Floats | float, unasked: float) -> Floats:
        errors = self.errors
        if unasked <= 0:
            return np.column_stack(errors.widened(self.answers, quantile))
        curvature = unasked * errors.sampled.curvature(zero_one=errors.zero_one)
        low, high = errors.widened(self.answers, quantile, curvature)
        deviations = np.sqrt(self.noise + unasked * self.drawn)
        even = np.where(errors.variances <= 0, 0.0, quantile * deviations + errors.bias)
        return np.column_stack([np.minimum(low, self.answers - even), np.maximum(high, self.answers + even)])


@dataclass(frozen=True, eq=False)
class WeightedMean:
    """Σ w_b θ̂_b over blocks of periods with independent errors, the `parts` w_b and θ̂_b.

    `unasked` is the factor of the variance of independent draws in what is about active devices: 1 − 1/T for a mean
    over periods, and for a change 1, or 0 where T is 1. Devices that answer one period do not answer the T − 1 next
    ones, so the errors of two periods as samples have correlation −1/(T − 1) where devices stay and do not change, and
    their difference has 2·f(1 − f)/n whatever T is.
    """

    parts: Sequence[tuple[float, MeanPart]]
    unasked: float

    @cached_property
    def answers(self) -> Floats:
        """(Q,) as in `Mean`."""
        return self._summed([weight * mean.answers for weight, mean in self.parts])

    @cached_property
    def noise(self) -> Floats:
        """(Q,) Σ w_b² Var_b."""
        return self._summed([weight**2 * mean.noise for weight, mean in self.parts])

    @cached_property
    def sampling(self) -> Floats:
        """(Q,) as in `Mean`."""
        return self.unasked * self._summed([weight**2 * mean.drawn for weight, mean in self.parts])

    def interval(self, quantile: float) -> Floats:
        """(Q, 2) by variance recovery (Zou and Donner 2008): value ∓ √Σ (w_b·(θ̂_b − its end that lies there))².

        Where few events make up an error, ends are from the law of a report.
        """
        return self._ends(quantile, 0.0)

    def population_interval(self, quantile: float) -> Floats:
        """(Q, 2) as `interval`; by the law of a report, reporters count as independent draws of the active devices."""
        return self._ends(quantile, self.unasked)

    def band(self, quantile: float) -> Floats:
        """(Q, 2) as `interval`, which holds at any level."""
        return self._ends(quantile, 0.0)

    @cached_property
    def normality(self) -> tuple[Normality | None, ...]:
        """(Q,) from the law of the sum at the plausible histograms of all parts."""
        means = [mean for _, mean in self.parts]
        if not all(mean.is_judged for mean in means):
            return (None,) * len(self.answers)
        level, users = means[0].level, sum(mean.users for mean in means)
        z = normal_quantile(level)
        own, among = (self.answers[:, None] - ends[:, ::-1] for ends in (self.interval(z), self.population_interval(z)))
        return tuple(
            self._judged(query, (own[query], among[query]), users, level) for query in range(len(self.answers))
        )

    def _judged(self, query: int, ends: tuple[Floats, Floats], users: int, level: float) -> Normality | None:
        """Of one query, whose errors about reporters and about active devices may lie between the `ends` (2,) each."""
        terms = self._terms(query)
        if terms is None:
            return None
        coverage = coverage_of_terms(terms, ends[0], sampled=False)
        population = coverage_of_terms(terms, ends[1], sampled=True) if self.unasked > 0 else coverage
        return Normality.of_coverages(coverage, population, users, level)

    def _ends(self, quantile: float, unasked: float) -> Floats:
        ends = self.recovered(quantile, unasked)
        tail, sampled = float(ndtr(-quantile)), unasked > 0
        widened = self._bias
        for query in np.flatnonzero(self.noise > 0).tolist():
            terms = self._terms(query)
            if terms and are_few(terms, quantile, sampled=sampled):
                low, high = truths_not_ruled_out(terms, float(self.answers[query]), tail, sampled=sampled)
                ends[query] = low - widened, high + widened
        return ends

    def recovered(self, quantile: float, unasked: float) -> Floats:
        """(Q, 2) as `interval`, from the ends of the parts alone, with a factor `unasked` of the draws' variance."""
        below, above = np.zeros(len(self.answers)), np.zeros(len(self.answers))
        for weight, mean in self.parts:
            low, high = weight * (mean.scored(quantile, unasked).T - mean.answers)
            # Errors add up in squares, biases do not.
            bias = abs(weight) * mean.bias
            below += np.minimum(np.minimum(low, high) + bias, 0.0) ** 2
            above += np.maximum(np.maximum(low, high) - bias, 0.0) ** 2
        biases = np.where(self.noise > 0, self._bias, 0.0)
        return np.column_stack([self.answers - np.sqrt(below) - biases, self.answers + np.sqrt(above) + biases])

    @property
    def _bias(self) -> float:
        return sum(abs(weight) * mean.bias for weight, mean in self.parts)

    def _terms(self, query: int) -> list[Term] | None:
        """The answer to one query as a sum of means; None where the law of one is not listed."""
        found: list[Term] = []
        for weight, mean in self.parts:
            terms = mean.terms(query, weight) if weight else []
            if terms is None:
                return None
            found += terms
        return found

    def _summed(self, parts: Sequence[Floats]) -> Floats:
        return np.asarray(np.sum(parts, axis=0))
