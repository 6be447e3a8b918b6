"""What an estimate of one round says: answers, standard errors, intervals, the band."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.band import BandQuantile
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.estimation.normality import Normality
from sordino_analysis.estimation.sampling import SampledAnswers
from sordino_analysis.estimation.score_interval import VarianceCurve
from sordino_shared.errors import SordinoError


class EstimationError(SordinoError):
    """The reports allow no estimate; the message gives the reason."""

    code = "estimation-error"
    advice = "collect more reports, or give those of this plan's own rounds"


@dataclass(frozen=True)
class Reliability:
    """How often the intervals of each query hold (Q,), None where a report's law is not known, and the band."""

    normality: tuple[Normality | None, ...]
    band: BandQuantile


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearEstimate:
    """Answers W h of one round, arrays of shape (Q,).

    `value` is the answer, of a share cut to [0, 1] as the ends of its intervals are, and `unbiased` the same uncut. It
    has the `standard_error` of the answers among the users who reported, and the intervals of `lower` to
    `upper` and of the simultaneous `band_lower` to `band_upper` are about those; `population_…` is about the population
    that the users are an independent sample of. Intervals are widened by `bias_bound`, which no answer's bias exceeds.
    `consistent` are the answers of the nearest true histogram: closer to the truth, but no longer unbiased.
    """

    value: Floats
    unbiased: Floats
    consistent: Floats
    standard_error: Floats
    population_standard_error: Floats
    lower: Floats
    upper: Floats
    population_lower: Floats
    population_upper: Floats
    band_lower: Floats
    band_upper: Floats
    reliability: Reliability
    level: float
    users: int
    bias_bound: float
    counts_as_unbiased: bool
    warnings: tuple[str, ...]

    @property
    def uncut(self) -> Floats:
        """(Q,) the unbiased answers, by the name of their column."""
        return self.unbiased

    @property
    def interval(self) -> Floats:
        """(Q, 2) from `lower` to `upper`."""
        return np.column_stack([self.lower, self.upper])

    @property
    def band(self) -> Floats:
        """(Q, 2) from `band_lower` to `band_upper`."""
        return np.column_stack([self.band_lower, self.band_upper])

    @property
    def population_interval(self) -> Floats:
        """(Q, 2) from `population_lower` to `population_upper`."""
        return np.column_stack([self.population_lower, self.population_upper])

    @property
    def normality(self) -> tuple[Normality | None, ...]:
        """How often the intervals of each query hold."""
        return self.reliability.normality


@dataclass(frozen=True, eq=False, kw_only=True)
class AnswerErrors:
    """What is known of the errors of Q answers of `users`: one user's variances (Q,), as a curve over the answer too.

    `sampled` are the true answers of single users, whose rows are of zeros and ones where `zero_one`; `shares` (Q,)
    says of which rows that is so. No answer's bias exceeds `bias`. `quantiles` (Q,) are how many standard errors an
    interval goes to either side, where that is not as of normal errors.
    """

    variances: Floats
    curve: VarianceCurve
    sampled: SampledAnswers
    zero_one: bool
    shares: NDArray[np.bool_]
    bias: float
    users: int
    level: float
    quantiles: Floats | None = None

    @property
    def standard(self) -> Floats:
        """(Q,) standard errors about the answers of the users."""
        return np.sqrt(self.variances / self.users)

    @property
    def of_population(self) -> Floats:
        """(Q,) standard errors about the answers of the population that the users are a sample of."""
        drawn = self.sampled.smoothed(self.users, normal_quantile(self.level))
        return np.sqrt((self.variances + np.where(self.variances > 0, drawn, 0.0)) / self.users)

    def estimate(
        self,
        answers: Floats,
        consistent: Floats,
        reliability: Reliability,
        warnings: tuple[str, ...],
        *,
        counts_as_unbiased: bool,
    ) -> LinearEstimate:
        """The answers with all their intervals, of shares cut to [0, 1]; arrays (Q,)."""
        normal = normal_quantile(self.level)
        z = normal if self.quantiles is None else self.quantiles
        lower, upper = self.widened(answers, z)
        # The people drawn count as normal, whatever the noise is, of which the quantile may be 0.
        population_lower, population_upper = self.for_population(answers, np.maximum(z, normal))
        band_lower, band_upper = self.widened(answers, reliability.band.quantile)
        return LinearEstimate(
            value=self.cut(answers),
            unbiased=answers,
            consistent=consistent,
            standard_error=self.standard,
            population_standard_error=self.of_population,
            lower=self.cut(lower),
            upper=self.cut(upper),
            population_lower=self.cut(population_lower),
            population_upper=self.cut(population_upper),
            band_lower=self.cut(band_lower),
            band_upper=self.cut(band_upper),
            reliability=reliability,
            level=self.level,
            users=self.users,
            bias_bound=self.bias,
            counts_as_unbiased=counts_as_unbiased,
            warnings=warnings,
        )

    def cut(self, values: Floats) -> Floats:
        """(Q,) the values, those of shares within [0, 1]."""
        return np.where(self.shares, np.clip(values, 0.0, 1.0), values)

    def widened(
        self, answers: Floats, quantile: Floats | float, sampling: Floats | float = 0.0
    ) -> tuple[Floats, Floats]:
        """(Q,) the ends of what is `quantile` (Q,) of its own standard errors, or less, from the answers."""
        low, high = self.curve.interval(answers, quantile, self.users, sampling)
        exact = self.variances <= 0
        return np.where(exact, answers, low - self.bias), np.where(exact, answers, high + self.bias)

    def for_population(self, answers: Floats, quantile: Floats | float) -> tuple[Floats, Floats]:
        """(Q,) the same of the population's answers."""
        low, high = self.widened(answers, quantile, self.sampled.curvature(zero_one=self.zero_one))
        # Wilson's interval for a share misses a type of one user in 500 in 8 % of samples; this one holds it.
        even = np.where(self.variances <= 0, 0.0, quantile * self.of_population + self.bias)
        return np.minimum(low, answers - even), np.maximum(high, answers + even)
