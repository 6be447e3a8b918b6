"""Every randomizer against its own integers: exact law, exact ε, declared alphabet.

The law is written down here from the definitions, with `itertools` and fractions. Chi-square thresholds have a false
alarm of one in a million for a test of one value; the same samples must refuse a law that is a tenth off.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from scipy.stats import chi2

from sordino_shared.audit import prove_epsilon
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import epsilon_of_ratio
from sordino_shared.randomizers import FiniteKernel, RandomizedResponse, Randomizer, SubsetSelection
from sordino_shared.randomness import Randomness, SeededRandomness

NAMES = (
    "randomized_response_2",
    "randomized_response_5",
    "randomized_response_coarse",
    "subset_2_of_5",
    "subset_1_of_2",
    "subset_5_of_6",
    "dense",
    "two_level",
)
DRAWS = 100_000
FALSE_ALARM = 1e-6
Law = dict[bytes, Fraction]


def law(randomizer: Randomizer, cell: int) -> Law:
    """Probability of every payload for one value."""
    if isinstance(randomizer, RandomizedResponse):
        other = Fraction(randomizer.other_weight, 2**randomizer.bits)
        own = 1 - (randomizer.size - 1) * other
        return {bytes([y]): own if y == cell else other for y in range(randomizer.size)}
    if isinstance(randomizer, SubsetSelection):
        return _subset_law(randomizer, cell)
    assert isinstance(randomizer, FiniteKernel)
    column = [Fraction(int(row[cell]), 2**randomizer.bits) for row in randomizer.rows.integers()]
    null = {bytes([len(column)]): 1 - sum(column)} if randomizer.has_null_output else {}
    return {bytes([y]): share for y, share in enumerate(column)} | null


def _subset_law(randomizer: SubsetSelection, cell: int) -> Law:
    size, chosen = randomizer.size, randomizer.subset_size
    include = Fraction(randomizer.include_weight, 2**randomizer.bits)
    with_cell, without = include / comb(size - 1, chosen - 1), (1 - include) / comb(size - 1, chosen)
    subsets = combinations(range(size), chosen)
    return {bytes([sum(1 << y for y in subset)]): with_cell if cell in subset else without for subset in subsets}


def chi_square(payloads: np.ndarray, expected: Law) -> tuple[float, float]:
    """(statistic, threshold) of one-byte payloads against a law."""
    counts = np.bincount(payloads[:, 0], minlength=256)
    possible = [payload[0] for payload, share in expected.items() if share]
    assert counts.sum() == counts[possible].sum()
    means = np.array([float(expected[bytes([y])]) for y in possible]) * len(payloads)
    return float(((counts[possible] - means) ** 2 / means).sum()), float(chi2.isf(FALSE_ALARM, len(possible) - 1))


def a_tenth_off(expected: Law) -> Law:
    """The law with its likeliest payload a tenth rarer, the others scaled up."""
    top = max(expected, key=lambda payload: expected[payload])
    rest = (1 - expected[top] * Fraction(9, 10)) / (1 - expected[top])
    return {payload: share * (Fraction(9, 10) if payload == top else rest) for payload, share in expected.items()}


@pytest.mark.parametrize("name", NAMES)
def test_samples_follow_the_integers_and_not_a_law_a_tenth_off(
    name: str, finite_randomizers: dict[str, Randomizer]
) -> None:
    randomizer, source = finite_randomizers[name], SeededRandomness(7)
    for cell in range(randomizer.size):
        expected = law(randomizer, cell)
        assert sum(expected.values()) == 1
        payloads = randomizer.randomize_many(np.full(DRAWS, cell), source)
        assert payloads.shape == (DRAWS, randomizer.payload_bytes) == (DRAWS, 1)
        found, threshold = chi_square(payloads, expected)
        assert found < threshold
        perturbed, threshold = chi_square(payloads, a_tenth_off(expected))
        assert perturbed > threshold


@pytest.mark.parametrize("name", NAMES)
def test_mixed_cells_are_randomised_each_by_its_own_column(
    name: str, finite_randomizers: dict[str, Randomizer]
) -> None:
    randomizer = finite_randomizers[name]
    cells = np.arange(3 * DRAWS) % randomizer.size
    payloads = randomizer.randomize_many(cells, SeededRandomness(8))
    for cell in range(randomizer.size):
        found, threshold = chi_square(payloads[cells == cell], law(randomizer, cell))
        assert found < threshold


@pytest.mark.parametrize("name", NAMES)
def test_epsilon_is_that_of_the_enumerated_law(name: str, finite_randomizers: dict[str, Randomizer]) -> None:
    randomizer = finite_randomizers[name]
    laws = [law(randomizer, cell) for cell in range(randomizer.size)]
    pairs = product(laws, laws)
    worst = max(a[payload] / b[payload] for a, b in pairs for payload in a if a[payload] or b[payload])
    ratio = randomizer.likelihood_ratio()
    assert ratio is not None
    assert Fraction(*ratio) == worst
    assert prove_epsilon(randomizer) == epsilon_of_ratio(worst.numerator, worst.denominator)


@pytest.mark.parametrize("name", NAMES)
def test_the_alphabet_is_what_some_value_can_produce(name: str, finite_randomizers: dict[str, Randomizer]) -> None:
    randomizer = finite_randomizers[name]
    possible = {p for cell in range(randomizer.size) for p, share in law(randomizer, cell).items() if share}
    every = np.arange(256, dtype=np.uint8)[:, None]
    assert {bytes([y]) for y in np.flatnonzero(randomizer.in_alphabet(every))} == possible


class EveryWord(Randomness):
    """Gives each of the 2^16 high words once, in order."""

    def bytes(self, count: int) -> bytes:
        assert count == 8 * 2**16
        return (np.arange(2**16, dtype=np.uint64) << np.uint64(48)).astype("<u8").tobytes()


@pytest.mark.parametrize("name", ["dense", "randomized_response_coarse"])
def test_a_law_of_sixteen_bits_is_counted_out(name: str, finite_randomizers: dict[str, Randomizer]) -> None:
    randomizer = finite_randomizers[name]
    for cell in range(randomizer.size):
        payloads = randomizer.randomize_many(np.full(2**16, cell), EveryWord())
        counts = np.bincount(payloads[:, 0])
        assert {bytes([y]): Fraction(int(n), 2**16) for y, n in enumerate(counts)} == law(randomizer, cell)


@pytest.mark.parametrize("name", NAMES)
def test_cells_and_payloads_of_another_form_are_refused(name: str, finite_randomizers: dict[str, Randomizer]) -> None:
    randomizer, source = finite_randomizers[name], SeededRandomness(1)
    for cells in ([[0]], [-1], [randomizer.size], [0.0], [True]):
        with pytest.raises(InvalidValue, match="cells"):
            randomizer.randomize_many(np.array(cells), source)
    for payloads in (np.zeros((2, 2), np.uint8), np.zeros(2, np.uint8), np.zeros((2, 1), np.int64)):
        with pytest.raises(InvalidValue, match="payloads"):
            randomizer.in_alphabet(payloads)
    assert randomizer.randomize_many(np.zeros(0, dtype=np.int64), source).shape == (0, 1)
    assert len(randomizer.randomize(0, source)) == 1
