"""The law of the error of an estimated quadratic form, and the intervals that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaincinv, ndtri

from sordino_analysis.arrays import Floats
from sordino_analysis.pairwise.error_moments import ErrorMoments

# Pearson's type III with less skewness than this is the normal law to three digits, and has no stable shape.
_NO_SKEWNESS = 1e-3
# Beyond this the expansion by kurtosis overshoots: the product of two normal variables has 6, and gains as by 3.
_MOST_EXCESS = 3.0
# A variance is not below this share of what its parts are, lest shape be divided by nothing.
_LEAST, _TINY = 1e-9, 1e-300
# Beyond this the expansion of Student's quantiles by degrees of freedom overshoots.
_MOST_UNSURE = 0.5
# An interval is searched for on so many points, and between two of them on a straight line.
_POINTS, _REACH, _DOUBLINGS = 33, 4.0, 40
# One over the number of rare events that the error is made of, as far as cumulants tell: from the first on intervals
# are doubtful unless drawn campaigns say that they hold, and from the second on whatever those say.
FEW_EVENTS, HARDLY_ANY_EVENT = 0.2, 2.0


@dataclass(frozen=True, eq=False)
class QuadraticError:
    """The law of an error with these `moments`, where the true value is `off` from the estimate.

    Its quantiles are Pearson's (type III, which χ² and the normal law are of), corrected for kurtosis. The variance of
    the linear term depends on the true value, and its estimate errs together with that of the first round's value. That
    is too high by `off` and the `gap` between the two values, which the regression of one error on the other takes off.
    The noise of a second round has the variance that it has for the query that was asked, whatever the true value.
    """

    moments: ErrorMoments
    gap: float = 0.0

    @cached_property
    def variance(self) -> Floats:
        """Of the whole error; never below what the quadratic and the independent part have.

        Shape (p,), one per place of the moments, or a scalar.
        """
        moments = self.moments
        return self._linear + moments.quadratic + moments.independent

    @property
    def standard_error(self) -> float:
        """Its root, for one form."""
        return float(np.sqrt(self.variance))

    @property
    def rarity(self) -> float:
        """One over how many rare events the error is made of: its kurtosis from the laws of the reports."""
        moments, variance = self.moments, np.maximum(self.variance, _TINY)
        scaled = (self._linear / np.maximum(moments.slope, _TINY)) ** 2
        fourth = np.abs(scaled * moments.fourth) + np.abs(moments.independent_fourth) + moments.scarce
        return float(fourth / variance / variance + moments.rare / variance)

    def quantiles(self, off: Floats, chances: tuple[float, float]) -> tuple[Floats, Floats]:
        """Of the error, at two chances, under true values from which the estimate is `off`. `off` (p,) → (p,) each."""
        moments, raw = self.moments, np.maximum(self.moments.slope, _TINY)
        moved = self._feedback * (off + self.gap)
        linear = np.maximum(moments.slope - moments.slope_noise - moved, 0.0)
        share = linear / raw
        variance = linear + moments.quadratic + moments.independent
        parts = (moments.slope, moments.quadratic, moments.independent)
        variance = np.maximum(variance, _LEAST * sum(np.abs(part) for part in parts) + _TINY)
        third = moments.cubic + 6.0 * share * moments.turned + share**1.5 * moments.third + moments.independent_third
        fourth = (
            moments.quartic
            + 48.0 * share * moments.twice_turned
            + share**2 * moments.fourth
            + moments.independent_fourth
        )
        skewness, kurtosis = third / variance / np.sqrt(variance), fourth / variance / variance
        low, high = (standard_quantile(chance, skewness, kurtosis) for chance in chances)
        stretch = self._stretch(variance, float(ndtri(chances[1])))
        return stretch * low, stretch * high

    def _stretch(self, variance: Floats, normal: float) -> Floats:
        """The standard deviation, stretched as Student's t is with the degrees of freedom of the variance's estimate.

        2/c² of them, by Satterthwaite, where c is the coefficient of variation of what the regression leaves open. The
        noise of a second round is in proportion to the slope that it asks about. Where chance makes that small, the
        first round's own error is large, and so it counts as estimated like the slope.
        """
        moments = self.moments
        lean = np.maximum(moments.first - moments.first_noise, 0.0)
        wavering = moments.wavering * lean / np.maximum(moments.first, _TINY) + moments.wavering_noise
        left = np.maximum(wavering - self._feedback**2 * (lean + moments.first_noise / 2.0), 0.0)
        sharing = 1.0 + moments.answered / np.maximum(moments.slope, _TINY)
        unsure = np.minimum(left / variance / variance * sharing**2, _MOST_UNSURE)
        return np.asarray(np.sqrt(variance) * (1.0 + (normal**2 + 1.0) / 8.0 * unsure))

    def margin(self, off: Floats, level: float) -> Floats:
        """How far inside the quantiles `off` is: not below 0 where an error of that size is no surprise.

        `off` (p,) → (p,).
        """
        low, high = self.quantiles(off, ((1 - level) / 2, (1 + level) / 2))
        return np.minimum(off - low, high - off)

    def interval(self, value: float, level: float) -> tuple[float, float]:
        """All true values under which an error as large as `value` has is no surprise at this level."""
        scale = self.standard_error
        if scale == 0:
            return value, value
        reach = _REACH * scale
        for _ in range(_DOUBLINGS):
            low, high = accepted(lambda off: self.margin(off, level), np.linspace(-reach, reach, _POINTS))
            if -reach < low and high < reach:
                break
            reach *= 2.0
        return value - high, value - low

    @cached_property
    def _linear(self) -> Floats:
        """4lᵀCl at the estimate, its own noise taken off: 0 where the slope cannot be told from nothing."""
        moments = self.moments
        return np.asarray(np.maximum(moments.slope - moments.slope_noise - self._feedback * self.gap, 0.0))

    @cached_property
    def _feedback(self) -> Floats:
        """The regression of the linear term's estimated variance on the error of the first round's value."""
        moments = self.moments
        lean = np.maximum(moments.first - moments.first_noise, 0.0)
        share = lean / np.maximum(moments.first, _TINY)
        together = 4.0 * share * moments.slope_turned + moments.crossed + share**1.5 * moments.slope_varied
        return np.asarray(together / np.maximum(lean + moments.first_noise / 2.0, _TINY))


def accepted(margin: Callable[[Floats], Floats], places: Floats) -> tuple[float, float]:
    """The least and the greatest place whose margin is not below 0, nan if there is none. `places` (p,), increasing."""
    margins = margin(places)
    inside = np.flatnonzero(margins >= 0)
    if not len(inside):
        return float("nan"), float("nan")
    return _crossing(places, margins, inside[0], -1), _crossing(places, margins, inside[-1], 1)


def _crossing(places: Floats, margins: Floats, last: int, step: int) -> float:
    beyond = last + step
    if not 0 <= beyond < len(places):
        return float(places[last])
    share = margins[last] / (margins[last] - margins[beyond])
    return float(places[last] + share * (places[beyond] - places[last]))


def standard_quantile(chance: float, skewness: Floats, kurtosis: Floats) -> Floats:
    """Of a law of mean 0 and variance 1 with this skewness and excess kurtosis.

    Pearson's type III has the excess 1.5·skewness²; Cornish and Fisher's first term corrects for what is left.
    `skewness` and `kurtosis` (p,) → (p,).
    """
    normal = float(ndtri(chance))
    lean = np.where(np.abs(skewness) < _NO_SKEWNESS, _NO_SKEWNESS, np.abs(skewness))
    shape = 4.0 / lean**2
    tail = np.where(np.sign(skewness) < 0, 1.0 - chance, chance)
    skewed = (gammaincinv(shape, tail) - shape) / np.sqrt(shape)
    skewed = np.where(np.abs(skewness) < _NO_SKEWNESS, normal, np.where(np.sign(skewness) < 0, -skewed, skewed))
    excess = np.clip(kurtosis - 3 / 2 * skewness**2, -1.0, _MOST_EXCESS)
    return np.asarray(skewed + (normal**3 - 3.0 * normal) / 24.0 * excess)
