"""The best mixture of subset sizes for a histogram, exactly, with the bound that it attains.

By symmetry a query cares only whether the set holds its own type, and a set's size is all that kernels can choose. Let
a and b be the chances that a set of size s holds the user's type and another one, and let π weigh the query's own type
against all others. For outputs "in" and "out" the information is i_s = (a − b)²/(m(1 − m)), m = πa + (1 − π)b, it adds
up over a mixture, and the least π-weighted variance is 1/i − π(1 − π). So for any π

    max over queries and types  ≥  1/max_s i_s(π) − π(1 − π),

with equality at the best π, where the sizes that tie are mixed until both variances agree. For the mean over queries π
is 1/k, and one size is best. With β = e^ε − 1 the information is a rational function of the size,

    1/i_s = ((k − 1)(1 + πβ) + (1 − π)β(s − 1)) · (k − 1 + (1 − π)βs) / (β² s(k − s)),

whose minimum over 1 ≤ s < k is at 1 or where its derivative vanishes, so that a bound looks at three sizes at most,
whatever k is. As k → ∞ the bound
for `max` is 1/(4 sinh²(ε/4)), attained at the density 1/(e^{ε/2} + 1), and that for `mean` is 1/sinh²(ε/2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from sordino_analysis.arrays import Floats
from sordino_analysis.request_terms import Objective
from sordino_shared.errors import InvalidValue

# ln(π/(1 − π)) between which the best π is searched: a double can say no more of 1 − π.
_LEAST_ODDS = -36.0
# The largest of them.
_MOST_ODDS = 36.0
# Halved so often, the interval is one number in double precision.
_HALVINGS = 60
# What double precision loses in sums of this length, relative to their largest term.
_ROUNDING = 1e-12
# Shares that differ by no more are the same up to rounding.
_SAME_SHARE = 1e-14


@dataclass(frozen=True)
class SizeMixture:
    """Sizes and their chances; `value` is the mixture's variance and the bound, `own_weight` the π that shows it."""

    sizes: tuple[int, ...]
    chances: tuple[float, ...]
    own_weight: float
    value: float


def inclusion_chances(types: int, epsilon: float, sizes: Floats) -> tuple[Floats, Floats]:
    """a and b for each size s: a = s e^ε/(s e^ε + k − s) and b = (s − a)/(k − 1). `sizes` (m,) → (m,) each."""
    boosted = sizes * np.exp(epsilon)
    own_chance = boosted / (boosted + types - sizes)
    return own_chance, (sizes - own_chance) / (types - 1)


def information(own_chance: Floats, other: Floats, own_weight: float) -> Floats:
    """i_s for each pair of chances. `own` a and `other` b (m,) → (m,)."""
    mixed = own_weight * own_chance + (1 - own_weight) * other
    return np.asarray((own_chance - other) ** 2 / (mixed * (1 - mixed)))


def best_sizes(types: int, epsilon: float, own_weight: float) -> Floats:
    """(1,) to (3,) sizes, one of which has the most information of all.

    With E + Fs + Gs² the product of its two linear factors, the derivative of 1/i_s vanishes at the roots of
    (F + Gk)s² + 2Es − Ek; only at the larger one can 1/i_s have a minimum, and none is left of size 1.
    """
    boost = float(np.expm1(epsilon))
    slope = (1 - own_weight) * boost
    first, second = (types - 1) * (1 + own_weight * boost) - slope, float(types - 1)
    square, product = slope * (first + second) + slope**2 * types, first * second
    root = np.sqrt(max(0.0, product * (product + square * types)))
    real = (root - product) / square
    return np.unique(np.clip([1.0, np.floor(real), np.ceil(real)], 1, types - 1))


def recheck_subset_sizes(types: int, epsilon: float, own_weight: float) -> float:
    """1/max_s i_s − π(1 − π) over all sizes s: a bound for every π, on the mean over queries where π = 1/k.

    Raises InvalidValue for π outside (0, 1).
    """
    if not 0 < own_weight < 1:
        raise InvalidValue(f"the weight of the own type lies between 0 and 1, got {own_weight}", own_weight)
    own_chance, other = inclusion_chances(types, epsilon, best_sizes(types, epsilon, own_weight))
    second = float(1 / information(own_chance, other, own_weight).max())
    return max(0.0, second - own_weight * (1 - own_weight) - _ROUNDING * second)


@dataclass(frozen=True)
class OwnWeightBound:
    """The least variance of a histogram, and the weight π of a query's own type that proves it."""

    value: float
    own_weight: float


def best_bound(types: int, epsilon: float, objective: Objective) -> OwnWeightBound:
    """The best of the bounds for all π: no ε-LDP kernel on this many types has less, and some mixture attains it."""
    weight, _ = _around_best_weight(types, epsilon, objective)
    return OwnWeightBound(recheck_subset_sizes(types, epsilon, weight), weight)


def best_mixture(types: int, epsilon: float, objective: Objective) -> SizeMixture:
    """The mixture with the least maximum, or mean, of a histogram's variances; no ε-LDP kernel has less."""
    weight, above = _around_best_weight(types, epsilon, objective)
    sizes = np.unique([_best_size(types, epsilon, own_weight) for own_weight in (weight, above)])
    chances = _chances(*inclusion_chances(types, epsilon, sizes), weight)
    used, value = chances > 0, recheck_subset_sizes(types, epsilon, weight)
    return SizeMixture(tuple(map(int, sizes[used])), tuple(map(float, chances[used])), weight, value)


def _best_size(types: int, epsilon: float, own_weight: float) -> Floats:
    """(1,) the size with the most information."""
    sizes = best_sizes(types, epsilon, own_weight)
    information_of_sizes = information(*inclusion_chances(types, epsilon, sizes), own_weight)
    return sizes[[information_of_sizes.argmax()]]


def _around_best_weight(types: int, epsilon: float, objective: Objective) -> tuple[float, float]:
    """Two neighbouring weights π with the largest bound between them; for the mean both are 1/k.

    The bound is concave in π. Its slope is the imbalance of the best size, which jumps where the best size changes:
    there sizes tie, and there is one of them on each side.
    """
    if objective == "mean":
        return 1 / types, 1 / types
    low, high = _LEAST_ODDS, _MOST_ODDS
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        weight = float(expit(middle))
        chances = inclusion_chances(types, epsilon, _best_size(types, epsilon, weight))
        if _imbalance(*chances, np.ones(1), weight) > 0:
            low = middle
        else:
            high = middle
    return float(expit(low)), float(expit(high))


def decoder_values(own_chance: Floats, other: Floats, chances: Floats, own_weight: float) -> tuple[Floats, Floats]:
    """(inside, outside) for each size: what a query adds when the set holds its type, and when it does not."""
    mixed = own_weight * own_chance + (1 - own_weight) * other
    total = float(chances @ information(own_chance, other, own_weight))
    gap = (own_chance - other) / total
    return np.asarray(own_weight + gap / mixed), np.asarray(own_weight - gap / (1 - mixed))


def _imbalance(own_chance: Floats, other: Floats, chances: Floats, weight: float) -> float:
    """Variance at the own type minus that at another one."""
    inside, outside = decoder_values(own_chance, other, chances, weight)
    squares = (own_chance - other) * (inside**2 - outside**2)
    return float(chances @ squares - 1.0)


def _chances(own_chance: Floats, other: Floats, weight: float) -> Floats:
    """Chances of one size or of two that tie: with them the variances at the own type and at another one agree.

    Where the same variance is the larger one at both sizes, no mixture balances them, and one size is taken.
    """
    if own_chance.size == 1:
        return np.ones(1)

    def imbalance(share: float) -> float:
        return _imbalance(own_chance, other, np.array([share, 1 - share]), weight)

    ends = imbalance(0.0), imbalance(1.0)
    if ends[0] * ends[1] >= 0:
        share = float(abs(ends[1]) <= abs(ends[0]))
    else:
        share = float(brentq(imbalance, 0.0, 1.0, xtol=_SAME_SHARE))
    return np.array([share, 1 - share])
