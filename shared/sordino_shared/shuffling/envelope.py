"""One loss law that is no easier to hide than that of any pair of values of a table.

For every pair C(t) = E[(L − t)₊] is convex with slope −1 far below and 0 far above. Their maximum over all pairs is
convex as well, so it belongs to a law L*, and L ≤ L* in convex order for each pair. Sums keep that order, so δ of L* is
at least that of every pair: one transform proves all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

from sordino_shared.errors import InvalidValue
from sordino_shared.shuffling.profile import LossLaw

# Knots at which the maximum is taken; between them it is a chord, which is above it.
_CELLS = 256


def envelope(chances: Sequence[Sequence[float]], power: float) -> LossLaw:
    """The law L* of a table at `power` = e^ε, for a blanket of uniform types.

    `chances` (types, outputs) are the laws K_x of reports, each row summing to 1; B is their mean.
    The cost grows with types² · (outputs + 256): 128 types and 256 outputs take about 2 s.

    Raises:
        InvalidValue: there are fewer than two types, rows of different lengths, or a row that does not sum to 1.
    """
    _check(chances)
    blanket = [math.fsum(column) / len(chances) for column in zip(*chances, strict=True)]
    outputs = [y for y, chance in enumerate(blanket) if chance > 0]
    weights = [blanket[y] for y in outputs]
    likelihoods = [[row[y] / blanket[y] for y in outputs] for row in chances]
    extremes = [(min(row), max(row)) for row in likelihoods]
    lowest, highest = min(low for low, _ in extremes), max(high for _, high in extremes)
    first, last = lowest - power * highest, highest - power * lowest
    step = (last - first) / _CELLS
    # Places on the grid are own − other.
    own = [[value / step for value in row] for row in likelihoods]
    other = [[(power * value + first) / step for value in row] for row in likelihoods]
    tails = [0.0] * (_CELLS + 3)
    for x, row in enumerate(own):
        for against, column in enumerate(other):
            if x != against:
                tails = list(map(max, tails, _tails(row, column, weights)))
    return _law_of(tails, first, step)


def _check(chances: Sequence[Sequence[float]]) -> None:
    if len(chances) < 2 or any(len(row) != len(chances[0]) for row in chances):
        raise InvalidValue("a table of chances has two rows or more, all of one length", chances)
    for row in chances:
        if abs(math.fsum(row) - 1) > 1e-9 or min(row) < 0:
            raise InvalidValue("chances are 0 or more, and a row of them sums to 1", row)


def _tails(own: Sequence[float], other: Sequence[float], weights: Sequence[float]) -> list[float]:
    """E[(L − t)₊]/step at every knot t, of the losses own − other in cells.

    A loss between two knots is spread over them with its mean kept, which changes no expectation at a knot.
    """
    masses = [0.0] * (_CELLS + 3)
    for a, b, weight in zip(own, other, weights, strict=True):
        place = a - b
        # Rounding may move the least loss below the first knot by a hair: it then counts as the first.
        below = int(place) if place > 0 else 0
        above = (place - below) * weight
        masses[below] += weight - above
        masses[below + 1] += above
    masses.reverse()
    at_least = list(accumulate(masses))
    tails = [0.0, *accumulate(at_least)]
    tails.pop()
    tails.reverse()
    return tails


def _law_of(tails: Sequence[float], first: float, step: float) -> list[tuple[float, float]]:
    """The law whose E[(L − t)₊]/step at the knots are `tails`: its chances are their second differences."""
    slopes = [1.0, *(left - right for left, right in pairwise(tails)), 0.0]
    chances = [max(0.0, before - after) for before, after in pairwise(slopes)]
    total = math.fsum(chances)
    return [(first + place * step, chance / total) for place, chance in enumerate(chances) if chance > 0]
