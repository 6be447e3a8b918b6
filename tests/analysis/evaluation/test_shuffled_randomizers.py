"""What shuffling is said to hide of every randomizer, against all multisets, whatever all others hold."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from itertools import combinations, combinations_with_replacement, permutations

import numpy as np
import pytest

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.randomizers.counts import clones_by_distance, column_distances
from sordino_analysis.guarantees.clones import Clones, ShuffledReports
from sordino_analysis.guarantees.shuffled import shuffled_of
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_shared.guarantees import NANO, PureEpsilon, exp_lower_bound
from sordino_shared.randomizers import (
    AnyRandomizer,
    DenseRows,
    FiniteKernel,
    RandomizedResponse,
    SubsetMixture,
    SubsetSelection,
)
from tests.randomizers import Sample, every_sample, law_of

Fractions = list[Fraction]
EPSILONS = (0, NANO // 4, 3 * NANO // 4)
# Entries of the array of all sequences of reports.
MOST_SEQUENCES = 5000
# Exact divergences are sums of at most so many floats.
ROUNDING = 1e-12


def exact_deltas(laws: Floats, users: int) -> list[float]:
    """For each ε the largest δ over pairs of values and all that the others may hold; `laws` (k, m).

    A sequence of reports in random order is the multiset: its chance is the mean over all orders.
    """
    worst = [0.0] * len(EPSILONS)
    orders = list(permutations(range(users)))
    for others in combinations_with_replacement(range(len(laws)), users - 1):
        views = []
        for law in laws:
            sequences = reduce(np.multiply.outer, [laws[other] for other in others], law)
            views.append(sum(sequences.transpose(order) for order in orders) / len(orders))
        for first, second in permutations(views, 2):
            for place, nano in enumerate(EPSILONS):
                delta = float(np.maximum(0.0, first - np.exp(nano / NANO) * second).sum())
                worst[place] = max(worst[place], delta)
    return worst


def check(randomizer: AnyRandomizer, laws: Floats, users: int) -> list[float]:
    """δ that is claimed over the exact one, for each ε; never below it."""
    claimed = [ShuffledReports(clones, users, 1e-15) for clones in for_randomizer(randomizer).clones()]
    ratios = []
    for nano, exact in zip(EPSILONS, exact_deltas(laws, users), strict=True):
        delta = max(reports.delta(nano) for reports in claimed)
        assert delta >= exact - ROUNDING
        ratios.append(delta / exact if exact > ROUNDING else 1.0)
    return ratios


def some(laws: Floats) -> Floats:
    """The laws of four values at most, the first and the last of those that differ among them."""
    found = np.array(list(dict.fromkeys(map(tuple, laws.tolist()))))
    return found if len(found) <= 4 else found[[0, 1, 2, -1]]


@pytest.mark.parametrize("sample", list(every_sample()))
def test_no_randomizer_hides_less_than_is_said(sample: Sample) -> None:
    listed = [law_of(sample.randomizer, cell) for cell in range(min(sample.randomizer.size, 8))]
    outcomes = sorted({outcome for law in listed for outcome in law})
    laws = some(np.array([[float(law.get(outcome, 0)) for outcome in outcomes] for law in listed]))
    users = max(users for users in (2, 3, 4) if users == 2 or len(outcomes) ** users <= MOST_SEQUENCES)
    check(sample.randomizer, laws, users)


def covers(clones: Clones, one: Fractions, two: Fractions, least: Fractions) -> bool:
    """Whether the premise holds for two values with these laws, where everybody sends each report at `least` so often.

    Chances are α(E, 1) + β(1, 1), or mirrored; α and β of the pair are drawn in proportion from the kinds of report.
    """
    ratio = clones.ratio
    apart = [abs(p - q) / (ratio - 1) for p, q in zip(one, two, strict=True)]
    alike = [min(p, q) - own for p, q, own in zip(one, two, apart, strict=True)]
    own, even = sum(apart) / 2, sum(alike)
    assert min(alike) >= 0
    assert own * (ratio + 1) + even == 1
    sent = [
        clones.floor * each / own + (clones.even_floor * both / even if even else 0)
        for each, both in zip(apart, alike, strict=True)
    ]
    return own <= clones.own and all(some <= floor for some, floor in zip(sent, least, strict=True))


def premise_holds(randomizer: AnyRandomizer, laws: list[Fractions]) -> bool:
    """Whether each two of all values are covered by one of the clones that are said of the randomizer."""
    claimed = for_randomizer(randomizer).clones()
    least = [min(chances) for chances in zip(*laws, strict=True)]
    pairs = [(one, two) for one, two in combinations(laws, 2) if one != two]
    return all(any(covers(clones, one, two, least) for clones in claimed) for one, two in pairs)


COMPARED = (RandomizedResponse, SubsetSelection, SubsetMixture, FiniteKernel)


@pytest.mark.parametrize("sample", list(every_sample(COMPARED)))
def test_the_premise_holds_for_every_pair_of_values_exactly(sample: Sample) -> None:
    listed = [law_of(sample.randomizer, cell) for cell in range(sample.randomizer.size)]
    outcomes = sorted({outcome for law in listed for outcome in law})
    assert premise_holds(sample.randomizer, [[law.get(outcome, Fraction(0)) for outcome in outcomes] for law in listed])


def test_the_premise_holds_for_pairs_in_groups() -> None:
    """Twelve columns between two: their distances are many, and close to one another."""
    steps = np.arange(12)
    table = np.stack([20_000 + 700 * steps + steps**2, 30_000 - 500 * steps, np.zeros(12, dtype=np.int64)])
    table[2] = (1 << 16) - table.sum(axis=0)
    kernel = FiniteKernel(16, DenseRows(array_of(table, "<u8")))
    assert len(for_randomizer(kernel).clones()) < len(column_distances(kernel_table(kernel)) or ())
    assert premise_holds(kernel, [[Fraction(int(entry), 1 << 16) for entry in column] for column in table.T])


@pytest.mark.parametrize("seed", range(6))
def test_random_kernels_hide_no_less_than_is_said(seed: int) -> None:
    generator = np.random.default_rng(seed)
    table = generator.integers(2000, 9000, size=(4, 3))
    table[3] += (1 << 16) - table.sum(axis=0)
    kernel = FiniteKernel(16, DenseRows(array_of(table, "<u8")))
    check(kernel, table.T / 65536, 4)


def test_the_bound_of_a_response_among_three_is_nearly_met() -> None:
    """Everybody sends the third value as often as the user: the bound is the exact δ but for who else holds it."""
    response = RandomizedResponse.for_guarantee(3, PureEpsilon.of(1))
    laws = np.array([[float(chance) for chance in law_of(response, cell).values()] for cell in range(3)])
    assert max(check(response, laws, 5)[:2]) < 1.2


@pytest.mark.parametrize("users", [10, 60, 200])
def test_two_values_are_never_below_the_exact_delta(users: int) -> None:
    """Binary randomized response: the count of ones is all that a multiset tells, whatever the others hold."""
    response = RandomizedResponse.for_guarantee(2, PureEpsilon.of(1))
    own, other = (weight / 2.0**response.bits for weight in (response.own_weight, response.other_weight))
    found = shuffled_of(PureEpsilon.of(1), for_randomizer(response).clones(), users, Fraction(1, 10**4))
    rows = [np.ones(1)]
    for likely in (own, other):
        steps = [np.ones(1)]
        for _ in range(users - 1):
            steps.append(np.convolve(steps[-1], [1 - likely, likely]))
        rows.append(steps)
    worst = 0.0
    for ones in range(users):
        others = np.convolve(rows[1][ones], rows[2][users - 1 - ones])
        one, zero = np.convolve(others, [1 - own, own]), np.convolve(others, [1 - other, other])
        for p, q in ((one, zero), (zero, one)):
            worst = max(worst, float(np.maximum(0.0, p - np.exp(found.epsilon) * q).sum()))
    assert 2e-5 < worst <= 1e-4


def test_distances_are_those_of_the_columns() -> None:
    rows = [[9000, 15000, 11000, 9000], [4000, 5000, 4000, 6000], [50000, 40000, 50000, 45000]]
    kernel = FiniteKernel(16, DenseRows(array_of(np.array(rows), "<u8")))
    table = [[int(entry) for entry in row] for row in kernel_table(kernel)]
    pairs = combinations(range(4), 2)
    exact = {sum(max(0, row[one] - row[two]) for row in table) for one, two in pairs}
    assert column_distances(kernel_table(kernel)) == sorted(exact, reverse=True)
    assert column_distances(np.broadcast_to(kernel_table(kernel)[:, :1], (4, 1 << 14))) is None


def test_distances_of_selected_subsets_are_those_of_their_law() -> None:
    selection = SubsetSelection.for_guarantee(6, 2, PureEpsilon.of(1))
    first, second = law_of(selection, 0), law_of(selection, 4)
    exact = sum(max(Fraction(0), first[outcome] - second[outcome]) for outcome in first)
    assert for_randomizer(selection).pair_distance == exact  # type: ignore[attr-defined]


def test_pairs_in_a_group_are_covered_by_it() -> None:
    """δ of a group of distances is at least that of each of them."""
    ratio = Fraction(exp_lower_bound(NANO), 1 << 192)
    most = (ratio - 1) / (ratio + 1)
    distances = [most * share / 100 for share in (97, 96, 95, 41, 30, 26)]
    groups = clones_by_distance(ratio, distances)
    assert len(groups) < len(distances)
    claimed = [ShuffledReports(clones, 200, 1e-12).delta(NANO // 10) for clones in groups]
    for distance in distances:
        alone = ShuffledReports(clones_by_distance(ratio, [distance])[0], 200, 1e-12)
        assert alone.delta(NANO // 10) <= max(claimed)
