"""Two randomizers in one report: the product law, the sum of their ε, and what is no pair."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_analysis.vectorized.randomizers import in_alphabet, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.audit import prove_epsilon
from sordino_shared.errors import InvalidValue, MalformedDocument
from sordino_shared.guarantees import PureEpsilon, epsilon_of_ratio
from sordino_shared.protocol.schema import from_plain, to_plain
from sordino_shared.randomizers import AnyRandomizer, DenseRows, FiniteKernel, Pair, RandomizedResponse, SeededDirection


def kernel(*rows: tuple[int, ...]) -> FiniteKernel:
    return FiniteKernel(16, DenseRows(array_of(np.array(rows, dtype=np.uint64) << np.uint64(12), "<u8")))


def direction(*vectors: tuple[int, ...]) -> SeededDirection:
    keep = np.full(len(vectors), SeededDirection.largest_keep_weight(PureEpsilon.of("0.5")), dtype=np.uint64)
    return SeededDirection(60, array_of(np.array(vectors), "<i4"), array_of(keep, "<u8"))


FINITE = Pair(kernel((8, 5, 6), (8, 11, 10)), kernel((1, 2, 1), (6, 5, 5), (9, 9, 10)))
MIXED = Pair(direction((10, 0), (0, 10), (-6, 8)), FINITE.first)
DIRECTIONS = Pair(direction((10, 0), (0, 10)), direction((3, 4), (5, -12)))


def law(cell: int) -> dict[tuple[int, int], Fraction]:
    first, second = (kernel_table(part)[:, cell].tolist() for part in (FINITE.first, FINITE.second))
    return {(y, z): Fraction(first[y] * second[z], 1 << 32) for y, z in product(range(2), range(3))}


def test_epsilon_covers_every_ratio_of_the_enumerated_law_and_is_the_sum() -> None:
    laws = [law(cell) for cell in range(3)]
    worst = max(a[pair] / b[pair] for a in laws for b in laws for pair in a)
    stated = Fraction(*FINITE.likelihood_ratio())
    assert worst <= stated
    assert stated == Fraction(*FINITE.first.likelihood_ratio()) * Fraction(*FINITE.second.likelihood_ratio())
    assert prove_epsilon(FINITE) == epsilon_of_ratio(stated.numerator, stated.denominator)


def test_a_part_without_an_epsilon_leaves_the_pair_without_one() -> None:
    assert Pair(FINITE.first, kernel((0, 1, 1), (16, 15, 15))).likelihood_ratio() is None


def test_the_alphabet_is_that_of_both_parts() -> None:
    payloads = randomize_many(MIXED, np.array([0, 1, 2]), SeededRandomness(1))
    assert in_alphabet(MIXED, payloads).all()
    for place, value in ((16, 2), (17, 2)):
        altered = payloads.copy()
        altered[:, place] = value
        assert not in_alphabet(MIXED, altered).any()


@pytest.mark.parametrize(("pair", "products"), [(FINITE, False), (MIXED, False), (DIRECTIONS, True)])
def test_it_travels_and_states_its_statistic(pair: Pair, products: bool) -> None:
    assert from_plain(AnyRandomizer, to_plain(pair)) == pair  # type: ignore[arg-type]
    assert pair.has_products == products
    assert pair.accumulator_size == pair.first.accumulator_size + pair.second.accumulator_size + products
    assert pair.payload_bytes == pair.first.payload_bytes + pair.second.payload_bytes


def test_parts_for_different_domains_are_refused() -> None:
    with pytest.raises(InvalidValue, match="2 and for 3 types"):
        Pair(DIRECTIONS.first, FINITE.first)


def test_a_pair_of_pairs_is_no_wire_value() -> None:
    for part in (FINITE, RandomizedResponse.for_guarantee(3, PureEpsilon.of(1))):
        with pytest.raises(MalformedDocument, match="/first: kind must be"):
            from_plain(AnyRandomizer, to_plain(FINITE) | {"first": to_plain(part)})  # type: ignore[arg-type]
