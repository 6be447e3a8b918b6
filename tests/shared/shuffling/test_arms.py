"""The claim of a blanket in arms: m random reports of each arm prove what m prove without arms, whatever the arm.

A device holds a value for each arm, since what its app shows may change what it would answer. It draws an arm apart
from these values and reports the value of that arm alone. Reports of others are left out: they depend on nothing of
this device, and a collector that sent them all knows the batch of each arm less theirs. Every outcome is enumerated,
in fractions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest

from sordino_shared.shuffling.laws import of_set
from sordino_shared.shuffling.profile import delta_of

# Randomized response over three values of e^ε₀ = 4.
VALUES, ODDS = 3, 4
EPSILON_ODDS = Fraction(3, 2)
WEIGHTS = (Fraction(1, 8), Fraction(7, 8))
Batch = tuple[int, ...]
Counts = dict[Batch, Fraction]
# The chance of so many random reports of each arm, and that of a batch of each.
Blankets = dict[tuple[int, int], Fraction]
View = dict[tuple[Batch, Batch], Fraction]


def _report(value: int, given: int) -> Fraction:
    return Fraction(ODDS if value == given else 1, ODDS + VALUES - 1)


def _blankets(reports: int) -> Counts:
    """The law of how many of so many random reports have each value."""
    found: Counts = {}
    for split in product(range(reports + 1), repeat=VALUES - 1):
        if sum(split) <= reports:
            counts = (*split, reports - sum(split))
            ways = math.factorial(reports) // math.prod(math.factorial(count) for count in counts)
            found[counts] = Fraction(ways, VALUES**reports)
    return found


def _batches(own: int | None, reports: int) -> Iterator[tuple[Batch, Fraction]]:
    """The batch of an arm: so many random reports, and that of a device which holds `own` where one is among them."""
    for counts, chance in _blankets(reports).items():
        if own is None:
            yield counts, chance
            continue
        for sent in range(VALUES):
            more = tuple(count + (value == sent) for value, count in enumerate(counts))
            yield more, chance * _report(sent, own)


def _view(values: tuple[int, int], blankets: Blankets, arm: int | None = None) -> View:
    """The law of (batch of arm 0, batch of arm 1) where the device holds these values; of one arm if it is given."""
    found: defaultdict[tuple[Batch, Batch], Fraction] = defaultdict(Fraction)
    for drawn, weight in enumerate(WEIGHTS) if arm is None else [(arm, Fraction(1))]:
        for many, share in blankets.items():
            sides = [_batches(values[place] if place == drawn else None, many[place]) for place in (0, 1)]
            for (first, one), (second, other) in product(*map(list, sides)):
                found[first, second] += weight * share * one * other
    return found


def _delta(blankets: Blankets, arm: int | None = None) -> Fraction:
    """The largest δ at e^ε = 3/2 over all pairs of what a device may hold."""
    held = [(0, 0), (1, 1), (0, 1), (1, 2)]
    views = [_view(values, blankets, arm) for values in held]
    assert all(sum(view.values()) == 1 for view in views)
    nothing = Fraction(0)
    return max(
        sum((max(nothing, one - EPSILON_ODDS * second.get(seen, nothing)) for seen, one in first.items()), nothing)
        for first, second in product(views, views)
        if first is not second
    )


def _bound(reports: int) -> float:
    return delta_of(of_set(VALUES, 1, ODDS).losses(float(EPSILON_ODDS)), reports)


def _drawn(reports: int, weights: tuple[Fraction, Fraction]) -> Blankets:
    """So many random reports that draw their arms, too."""
    return {
        (first, reports - first): math.comb(reports, first) * weights[0] ** first * weights[1] ** (reports - first)
        for first in range(reports + 1)
    }


@pytest.mark.parametrize("reports", [0, 1, 3])
def test_m_random_reports_of_each_arm_prove_what_m_prove_without_arms(reports: int) -> None:
    """For whatever arm was drawn, and for the draw together with the batches."""
    each = {(reports, reports): Fraction(1)}
    found = [float(_delta(each, arm)) for arm in (None, 0, 1)]
    assert max(found) <= _bound(reports) * (1 + 1e-9)
    # Whoever knows the arm learns no more, and the bound is met: the least m of a plan is that of each arm.
    assert found == pytest.approx([_bound(reports)] * 3, rel=1e-3)


@pytest.mark.parametrize(
    "blankets",
    [
        # As many in all, whose arms are drawn like those of devices, or evenly; all in one arm.
        _drawn(4, WEIGHTS),
        _drawn(4, (Fraction(1, 2), Fraction(1, 2))),
        {(0, 4): Fraction(1)},
        # One report less in one arm.
        {(1, 2): Fraction(1)},
    ],
)
def test_other_blankets_of_no_more_reports_prove_less(blankets: Blankets) -> None:
    """So the number of each arm is fixed: a device that drew the rarer arm must not count on luck."""
    assert max(float(_delta(blankets, arm)) for arm in (0, 1)) > _bound(2) * 1.05
