"""δ of a blanket against its definition: every multiset of reports, its chances as fractions."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import RandomizedResponse
from sordino_shared.shuffling.claims import bound_of
from sordino_shared.shuffling.envelope import envelope
from sordino_shared.shuffling.laws import TwoLevels, mixture, of_random_labels, of_set
from sordino_shared.shuffling.profile import delta_of

Table = list[list[Fraction]]


def _table(types: int, outputs: int, seed: int) -> Table:
    chosen = random.Random(seed)
    rows = [[chosen.randint(0 if seed % 3 == 0 else 1, 9) for _ in range(outputs)] for _ in range(types)]
    return [[Fraction(value, sum(row)) for value in row] for row in rows]


def _blanket(table: Table) -> list[Fraction]:
    return [sum(column) / len(table) for column in zip(*table, strict=True)]


def _chances_of_multisets(own: list[Fraction], blanket: list[Fraction], count: int) -> dict[tuple[int, ...], Fraction]:
    """Chances of each multiset of one report by `own` and `count` by `blanket`."""
    chances: dict[tuple[int, ...], Fraction] = Counter()
    for reports in itertools.product(range(len(own)), repeat=count + 1):
        chance = own[reports[0]] * math.prod((blanket[y] for y in reports[1:]), start=Fraction(1))
        chances[tuple(sorted(reports))] += chance
    return chances


def _exact(table: Table, count: int, power: Fraction) -> Fraction:
    """max over pairs of Σ (P(multiset) − e^ε P′(multiset))₊, by the definition of (ε, δ)."""
    laws = [_chances_of_multisets(row, _blanket(table), count) for row in table]
    return max(
        sum((max(Fraction(0), chance - power * second[key]) for key, chance in first.items()), Fraction(0))
        for first, second in itertools.permutations(laws, 2)
    )


def _losses(table: Table, first: int, second: int, power: Fraction) -> list[tuple[float, float]]:
    triples = zip(table[first], table[second], _blanket(table), strict=True)
    return [(float((a - power * b) / c), float(c)) for a, b, c in triples if c]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [0, 1, 4])
def test_delta_is_that_of_every_multiset(seed: int, count: int):
    table, power = _table(3, 3, seed), Fraction(3, 2)
    exact = float(_exact(table, count, power))
    pairs = itertools.permutations(range(3), 2)
    worst = max(delta_of(_losses(table, *pair, power), count) for pair in pairs)
    # Where rounding alone decides, a bound is as exact as floats are.
    assert exact - 1e-12 <= worst <= exact + 1e-9
    together = delta_of(envelope([[float(c) for c in row] for row in table], float(power)), count)
    # No upper bound: different pairs may be the worst at different t.
    assert together >= worst - 1e-12


def test_a_smaller_blanket_hides_less():
    law = of_set(16, 2, math.exp(4)).losses(math.e)
    deltas = [delta_of(law, count) for count in (0, 10, 100, 200, 400)]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] < 1e-9


# (k, s, ε₀, ε, m): each takes sums over three free counts.
CASES = [(16, 1, 2, 0.5, 20), (16, 3, 2, 0.5, 60), (16, 2, 6, 0.5, 60), (9, 4, 1, 0.1, 40)]


@pytest.mark.parametrize(("size", "subset", "local", "epsilon", "count"), CASES)
def test_kinds_of_sets_are_those_of_counted_reports(size: int, subset: int, local: float, epsilon: float, count: int):
    law = of_set(size, subset, math.exp(local)).losses(math.exp(epsilon))
    exact = _by_counts(law, count)
    assert exact * (1 - 1e-9) <= delta_of(law, count) <= exact * 1.001


def _by_counts(law: list[tuple[float, float]], count: int) -> float:
    """E[S₊]/(m + 1) over the multinomial counts of the few values of a loss."""
    terms = []
    for counts in itertools.product(range(count + 2), repeat=len(law) - 1):
        rest = count + 1 - sum(counts)
        if rest < 0:
            continue
        every = (*counts, rest)
        total = sum(value * n for (value, _), n in zip(law, every, strict=True))
        if total > 0:
            log = math.lgamma(count + 2) - sum(math.lgamma(n + 1) for n in every)
            log += sum(n * math.log(chance) for (_, chance), n in zip(law, every, strict=True))
            terms.append(math.exp(log) * total)
    return math.fsum(terms) / (count + 1)


def test_the_envelope_of_a_symmetric_table_costs_little():
    """Of randomized response over 16 values all pairs are alike, so the envelope may only lose by its knots."""
    ratio, power = math.exp(4), math.e
    table = [[(ratio if x == y else 1) / (ratio + 15) for y in range(16)] for x in range(16)]
    one = delta_of(of_set(16, 1, ratio).losses(power), 500)
    assert one * (1 - 1e-9) <= delta_of(envelope(table, power), 500) <= 1.02 * one


def _below(losses: list[tuple[float, float]], count: int) -> float:
    """At most E[S₊]/(m + 1): losses are rounded down to a grid, and the law of their sum is a transform's power."""
    values, chances = np.array(losses).T
    step = (values.max() - values.min()) / 1000
    places = np.floor((values - values.min()) / step).astype(int)
    sums = np.arange(1000 * (count + 1) + 1)
    one = np.fft.rfft(np.bincount(places, chances), len(sums))
    law = np.fft.irfft(one ** (count + 1), len(sums))
    return float(law @ np.maximum(0, sums * step + (count + 1) * values.min())) / (count + 1)


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 50))])
def test_the_envelope_of_a_random_kernel_is_above_every_pair(seed: int):
    chosen = np.random.default_rng(seed)
    table = chosen.uniform(1, 3, size=(3, 8)) ** chosen.uniform(0.5, 3)
    table /= table.sum(axis=1, keepdims=True)
    power, count, blanket = chosen.uniform(1, 1.3), int(chosen.integers(5, 60)), table.mean(axis=0)
    pairs = itertools.permutations(range(3), 2)
    losses = [list(zip((table[x] - power * table[y]) / blanket, blanket, strict=True)) for x, y in pairs]
    worst = max(_below(each, count) for each in losses)
    assert delta_of(envelope(table.tolist(), power), count) >= worst


def test_overlap_hides():
    """Pairs that share more of their likely outputs are hidden better: the least overlap is the worst pair."""
    deltas = [delta_of(TwoLevels(50, 0.25, overlap).losses(math.e), 100) for overlap in (0, 0.0625, 0.15, 0.25)]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] == 0


def test_a_mixture_is_between_its_parts():
    parts = [of_set(16, 2, math.exp(4)), of_set(16, 3, math.exp(4))]
    low, high = sorted(delta_of(part.losses(math.e), 200) for part in parts)
    assert low < delta_of(mixture([(0.5, part) for part in parts], math.e), 200) < high


def test_random_labels_are_those_of_all_matrices():
    """Labels A·c of two cells over F₂ with 2 bits: the four kinds counted over all A and z."""
    members, labels, bits = 1, 4, 3
    first, second = 0b011, 0b110
    kinds: Counter[tuple[bool, bool]] = Counter()
    for rows in itertools.product(range(1 << bits), repeat=2):
        own, other = (
            sum(((row & cell).bit_count() & 1) << i for i, row in enumerate(rows)) for cell in (first, second)
        )
        for output in range(labels):
            kinds[(own ^ output) < members, (other ^ output) < members] += 1
    share = kinds[True, False] / sum(kinds.values())
    levels = of_random_labels(members, labels, 5.0)
    assert levels.share - levels.overlap == pytest.approx(share)


@pytest.mark.parametrize(("law", "count"), [([(0.5, 1.0)], -1), ([(0.5, 0.9)], 3), ([(0.5, 0.5), (-0.5, 0.6)], 3)])
def test_laws_that_are_none_are_refused(law: list[tuple[float, float]], count: int):
    with pytest.raises(InvalidValue):
        delta_of(law, count)


@pytest.mark.parametrize("table", [[[1.0]], [[0.5, 0.5], [1.0]], [[0.5, 0.6], [0.5, 0.5]], [[1.5, -0.5], [0.5, 0.5]]])
def test_tables_that_are_none_are_refused(table: list[list[float]]):
    with pytest.raises(InvalidValue):
        envelope(table, 2.0)


@pytest.mark.parametrize("levels", [(1.0, 0.5, 0.25), (3.0, 0.0, 0.0), (3.0, 0.5, 0.6), (3.0, 0.75, 0.4)])
def test_levels_that_are_none_are_refused(levels: tuple[float, float, float]):
    with pytest.raises(InvalidValue):
        TwoLevels(*levels)


@pytest.mark.parametrize("epsilon", [100, 355, 710, 1000])
def test_a_claim_of_any_epsilon_of_the_wire_has_a_bound(epsilon: int) -> None:
    assert bound_of(RandomizedResponse.for_guarantee(2, PureEpsilon.of(1)), 80, epsilon * 10**9) == 0
