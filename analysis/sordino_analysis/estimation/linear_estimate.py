"""What an estimate of one round says: answers, standard errors, intervals, the band."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.band import OUTER_SHARE, BandQuantile
from sordino_analysis.estimation.best.average import BestGuess
from sordino_analysis.estimation.intervals import independent_quantile, normal_quantile
from sordino_analysis.estimation.normality import Normality
from sordino_analysis.estimation.range_bounds import RangesOfTypes
from sordino_analysis.estimation.sampling import SampledAnswers
from sordino_analysis.estimation.score_interval import VarianceCurve
from sordino_analysis.percentages import percent
from sordino_shared.errors import SordinoError

# Lower and upper ends, (Q,) each.
Ends = tuple[Floats, Floats]
# Of lengths: what is shorter by less than this is as long.
_ROUNDING = 1e-12


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
class SimplexBounds:
    """Ends that the answers at once and the simplex imply: what `reporters` hold, and the `population`.

    These err with OUTER_SHARE of what the level leaves; `at_once`, the band, with all of it. None where no histogram is
    within such a band.
    """

    reporters: Ends
    population: Ends | None
    at_once: Ends | None


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearEstimate:
    """Answers W h of one round, arrays of shape (Q,).

    `value` is the answer, of a share cut to [0, 1] as the ends of its intervals are, and `unbiased` the same uncut. It
    has the `standard_error` of the answers among the users who reported, and the intervals of `lower` to
    `upper` and of the simultaneous `band_lower` to `band_upper` are about those; `population_…` is about the population
    that the users are an independent sample of. Intervals are widened by `bias_bound`, which no answer's bias exceeds.
    `best` are the answers of the best guess at the users' histogram: nearer to the truth on average, but not unbiased.
    `guess` has that histogram and how it was made; None where there is none for all answers together. `cut` says which
    intervals are shorter than ± z standard errors because F never falls and ends at 1; None where that was not looked
    at.
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

    def within(self, bounds: SimplexBounds) -> LinearEstimate:
        """The same with intervals and bands that are cut with `bounds`.

        An interval errs with .8 of what its level leaves, and the bounds with OUTER_SHARE. Intervals hold the best
        guess, and bands the intervals.
        """
        errors = self.standard_error, self.population_standard_error
        inner = 1 - (1 - self.level) * (1 - OUTER_SHARE)
        ends = [around(self.unbiased, normal_quantile(inner), each, self.bias_bound) for each in errors]
        lower, upper = _cut(ends[0], bounds.reporters)
        # The people drawn need not be normal where answers are 0 or 1: the wider ends of the two stand.
        wider = np.minimum(self.population_lower, ends[1][0]), np.maximum(self.population_upper, ends[1][1])
        population = _cut(wider, bounds.population) if bounds.population is not None else wider
        at_once = (self.band_lower, self.band_upper) if bounds.at_once is None else bounds.at_once
        lower, upper = _holding(self.best, (lower, upper))
        population_lower, population_upper = _holding(self.best, population)
        plain = around(self.unbiased, normal_quantile(self.level), errors[0], self.bias_bound)
        return replace(
            self,
            lower=lower,
            upper=upper,
            population_lower=population_lower,
            population_upper=population_upper,
            band_lower=np.clip(np.minimum(at_once[0], lower), 0.0, 1.0),
            band_upper=np.clip(np.maximum(at_once[1], upper), 0.0, 1.0),
            cut=upper - lower < plain[1] - plain[0] - _ROUNDING,
        )

    def doubting(self, warning: str) -> LinearEstimate:
        """The same with one more warning."""
        return replace(self, warnings=(*self.warnings, warning))

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
        # Sums of rounded shares may be above 1 in their last digits, where the ends below are cut.
        best = self.cut(best)
        if guess is not None:
            # Wider ends hold no less often; the guess is left as it is, or its answers were of no one histogram.
            lower, upper = np.minimum(lower, best), np.maximum(upper, best)
            band_lower, band_upper = np.minimum(band_lower, lower), np.maximum(band_upper, upper)
            population_lower, population_upper = np.minimum(population_lower, best), np.maximum(population_upper, best)
        found = LinearEstimate(
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
        )
        return found if ranges is None else self._within(found, ranges)

    def _within(self, found: LinearEstimate, ranges: RangesOfTypes) -> LinearEstimate:
        """With intervals and bands that are cut with what all `ranges` and the simplex imply.

        As before where errors are not known to be normal, and with a warning where no histogram is within the band.
        """
        band = found.reliability.band
        if band.outer is None:
            return found
        drawn = independent_quantile(1 - (1 - self.level) * OUTER_SHARE, len(found.unbiased))
        asked = (band.outer, self.standard), (band.quantile, self.standard), (drawn, self.of_population)
        bounds = [ranges.bounds(*around(found.unbiased, z, errors, self.bias)) for z, errors in asked]
        if bounds[0] is None:
            return found.doubting(contradiction(self.level))
        return found.within(SimplexBounds(reporters=bounds[0], at_once=bounds[1], population=bounds[2]))

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


def contradiction(level: float) -> str:
    """That no histogram has all answers within the wider band, as chance alone seldom has it."""
    outer = (1 - level) * OUTER_SHARE
    return (
        f"no users have all of these answers within their band of {percent(1 - outer)}, which happens by chance in "
        f"{percent(outer)} of campaigns at most: intervals are not cut; look for fake reports, and for another plan's"
    )


def around(answers: Floats, quantile: float, errors: Floats, bias: float) -> Ends:
    """(Q,) the ends of what is so many standard errors from the answers; of those without error the answer."""
    reach = np.where(errors > 0, quantile * errors + bias, 0.0)
    return answers - reach, answers + reach


def _cut(ends: Ends, bounds: Ends) -> Ends:
    """(Q,) what both leave; where they cross one of them errs, and what all ranges say together stands."""
    lower, upper = np.maximum(ends[0], bounds[0]), np.minimum(ends[1], bounds[1])
    crossed = lower > upper
    return np.where(crossed, bounds[0], lower), np.where(crossed, bounds[1], upper)


def _holding(best: Floats, ends: Ends) -> Ends:
    """(Q,) the ends of shares, which hold the best guess."""
    return np.clip(np.minimum(ends[0], best), 0.0, 1.0), np.clip(np.maximum(ends[1], best), 0.0, 1.0)
