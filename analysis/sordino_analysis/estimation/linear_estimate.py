"""What an estimate of one round says: answers, standard errors, intervals, the band."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.band import OUTER_SHARE, BandQuantile
from sordino_analysis.estimation.best.average import BestGuess
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.estimation.normality import Normality
from sordino_analysis.estimation.range_bounds import RangesOfTypes
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
    `best` are the answers of the best guess at the users' histogram: nearer to the truth on average, but not unbiased.
    `guess` has that histogram and how it was made; None where there is none for all answers together. `cut` says which
    intervals are shorter because F never falls and ends at 1; None where that was not looked at.
    """

    value: Floats
    unbiased: Floats
    best: Floats
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
    guess: BestGuess | None = None
    cut: NDArray[np.bool_] | None = None

    def within(self, bounds: tuple[Floats, Floats]) -> LinearEstimate:
        """The same with intervals that are cut with `bounds` (Q,) each, which err with OUTER_SHARE.

        Intervals hold the best guess, and bands the intervals.
        """
        lower, upper, shorter = _cut(self.unbiased, self.standard_error, self.bias_bound, self.level, bounds)
        lower, upper = np.minimum(lower, self.best), np.maximum(upper, self.best)
        lower, upper = np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
        band_lower, band_upper = np.minimum(self.band_lower, lower), np.maximum(self.band_upper, upper)
        return replace(self, lower=lower, upper=upper, band_lower=band_lower, band_upper=band_upper, cut=shorter)

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
        best: Floats,
        reliability: Reliability,
        warnings: tuple[str, ...],
        *,
        counts_as_unbiased: bool,
        guess: BestGuess | None = None,
        ranges: RangesOfTypes | None = None,
    ) -> LinearEstimate:
        """The answers with all their intervals, of shares cut to [0, 1]; arrays (Q,).

        Answers of `ranges` have intervals that are cut with a band of all of them and the simplex.
        """
        normal = normal_quantile(self.level)
        z = normal if self.quantiles is None else self.quantiles
        lower, upper = self.widened(answers, z)
        # The people drawn count as normal, whatever the noise is, of which the quantile may be 0.
        population_lower, population_upper = self.for_population(answers, np.maximum(z, normal))
        band_lower, band_upper = self.widened(answers, reliability.band.quantile)
        held = None if ranges is None else self.held(answers, ranges, reliability.band)
        if held is not None:
            lower, upper, band_lower, band_upper, shorter = held
        # Sums of rounded shares may be above 1 in their last digits, where the ends below are cut.
        best = self.cut(best)
        if guess is not None:
            # Wider ends hold no less often; the guess is left as it is, or its answers were of no one histogram.
            lower, upper = np.minimum(lower, best), np.maximum(upper, best)
            band_lower, band_upper = np.minimum(band_lower, lower), np.maximum(band_upper, upper)
        return LinearEstimate(
            value=self.cut(answers),
            unbiased=answers,
            best=best,
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
            guess=guess,
            cut=None if held is None else shorter,
        )

    def held(
        self, answers: Floats, ranges: RangesOfTypes, band: BandQuantile
    ) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.bool_]] | None:
        """(Q,) ends of the intervals and of the band as the simplex cuts them, and which intervals it made shorter.

        An interval errs with .8 of what its level leaves, and the band that it is cut with in the rest. None where
        errors are not known to be normal, and where no histogram is within the wider band.
        """
        if band.outer is None:
            return None
        outer, inner = (_reach(quantile, self.standard, self.bias) for quantile in (band.outer, band.quantile))
        found = ranges.bounds(answers - outer, answers + outer)
        at_once = ranges.bounds(answers - inner, answers + inner)
        if found is None:
            return None
        if at_once is None:
            at_once = answers - inner, answers + inner
        lower, upper, shorter = _cut(answers, self.standard, self.bias, self.level, found)
        return lower, upper, np.minimum(at_once[0], lower), np.maximum(at_once[1], upper), shorter

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


def _reach(quantile: float, errors: Floats, bias: float) -> Floats:
    """(Q,) how far ends are from answers; nothing for those without error."""
    return np.where(errors > 0, quantile * errors + bias, 0.0)


def _cut(
    answers: Floats, errors: Floats, bias: float, level: float, bounds: tuple[Floats, Floats]
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """(Q,) ends of what ± z standard errors and the bounds leave, and where the bounds make that shorter."""
    reach = _reach(normal_quantile(1 - (1 - level) * (1 - OUTER_SHARE)), errors, bias)
    lower, upper = np.maximum(answers - reach, bounds[0]), np.minimum(answers + reach, bounds[1])
    # Both cross where one of them errs: what all ranges say together stands.
    crossed = lower > upper
    lower, upper = np.where(crossed, bounds[0], lower), np.where(crossed, bounds[1], upper)
    return lower, upper, (lower > answers - reach) | (upper < answers + reach)
