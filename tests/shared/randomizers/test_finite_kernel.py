"""Finite kernels: what a hostile table may try, and what the null output costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import kernel_integers, kernel_table, two_level_rows
from sordino_analysis.vectorized.randomizers import in_alphabet, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.arrays import Array
from sordino_shared.audit import prove_epsilon
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, epsilon_of_ratio
from sordino_shared.randomizers import DenseRows, FiniteKernel, TwoLevelRows
from sordino_shared.randomizers.finite_kernel import MAX_ENTRIES


def dense(table: Any, bits: int = 60) -> FiniteKernel:
    return FiniteKernel(bits, DenseRows(array_of(np.array(table, dtype=np.uint64), "<u8")))


def ones(element: str, *shape: int) -> Array:
    return array_of(np.ones(shape), element)


def test_the_null_output_takes_what_columns_leave_and_counts_for_epsilon() -> None:
    kernel = dense([[2**59, 2**59], [2**58, 2**58 - 2**50]])
    assert kernel.has_null_output
    assert kernel.outputs == kernel.accumulator_size == 3
    assert kernel_table(kernel).tolist() == [[2**59, 2**59], [2**58, 2**58 - 2**50], [2**58, 2**58 + 2**50]]
    assert prove_epsilon(kernel) == epsilon_of_ratio(2**58, 2**58 - 2**50)


def test_a_full_table_has_no_null_output() -> None:
    kernel = dense([[2**59, 2**58], [2**59, 3 * 2**58]])
    assert not kernel.has_null_output
    assert kernel.outputs == 2
    assert prove_epsilon(kernel) == PureEpsilon.of("0.693147181")


def test_a_null_output_that_some_values_never_give_has_no_epsilon() -> None:
    assert prove_epsilon(dense([[2**60, 2**60 - 1]])) is None
    assert prove_epsilon(dense([[2**59, 0], [2**59, 2**60]])) is None


@pytest.mark.parametrize(
    ("table", "bits"),
    [
        ([[2**62, 2**62]] * 4, 62),
        ([[2**62, 2**62]] * 5, 62),
        ([[2**63, 2**63]] * 2, 62),
        ([[2**64 - 1, 2**64 - 1], [1, 1]], 62),
        ([[2**60 + 1, 2**59]], 60),
        ([[2**59, 2**59], [2**59, 2**59], [1, 0]], 60),
        ([[2**44] * 2] * 2**17, 60),
    ],
    ids=["wraps to 0", "wraps to 2^62", "wraps", "word wraps", "entry", "column", "many rows"],
)
def test_probabilities_above_one_are_refused_though_sums_wrap_around(table: Any, bits: int) -> None:
    with pytest.raises(InvalidValue, match="above"):
        dense(table, bits)


def test_rows_of_zeros_are_outside_of_the_alphabet() -> None:
    kernel = dense([[2**59, 2**59], [0, 0], [2**59, 2**59]])
    assert prove_epsilon(kernel) == PureEpsilon(0)
    assert in_alphabet(kernel, np.arange(5, dtype=np.uint8)[:, None]).tolist() == [True, False, True, False, False]
    drawn = randomize_many(kernel, np.zeros(1000, dtype=np.int64), SeededRandomness(1))
    assert set(drawn[:, 0].tolist()) == {0, 2}


def test_two_levels_are_the_dense_table_they_stand_for() -> None:
    rng = np.random.default_rng(1)
    for types in (2, 7, 8, 9, 64, 65):
        members = rng.random((6, types)) < 0.4
        low = rng.integers(1, 2**50, 6).astype(np.uint64)
        two = FiniteKernel(60, two_level_rows(low, low * np.uint64(2), members))
        same = dense(np.where(members, 2 * low[:, None], low[:, None]))
        assert (kernel_table(two) == kernel_table(same)).all()
        assert prove_epsilon(two) == prove_epsilon(same)
        assert two.size == same.size == types
        cells = np.arange(500) % types
        draws = (randomize_many(kernel, cells, SeededRandomness(3)) for kernel in (two, same))
        assert (next(draws) == next(draws)).all()


def test_padding_bits_must_be_zero() -> None:
    levels = array_of(np.array([1], dtype=np.uint64), "<u8")
    for types in range(2, 9):
        allowed = array_of(np.array([[(1 << types) - 1]]), "|u1")
        assert kernel_integers(TwoLevelRows(types, levels, levels, allowed)).tolist() == [[1] * types]
        if types < 8:
            with pytest.raises(InvalidValue, match="past the last type"):
                TwoLevelRows(types, levels, levels, array_of(np.array([[1 << types]]), "|u1"))


def test_extent_is_checked_before_anything_is_unpacked() -> None:
    types, rows = 1 << 20, (MAX_ENTRIES >> 20) + 1
    levels = array_of(np.ones(rows, dtype=np.uint64), "<u8")
    members = Array("|u1", (rows, types // 8), bytes(rows * types // 8))
    with pytest.raises(InvalidValue, match="too large"):
        TwoLevelRows(types, levels, levels, members)
    with pytest.raises(InvalidValue, match="number of types"):
        TwoLevelRows(types + 1, levels, levels, members)
    with pytest.raises(InvalidValue, match="too large"):
        DenseRows(Array("<u8", ((1 << 20) + 1, 2), bytes(16 * ((1 << 20) + 1))))


@pytest.mark.parametrize(
    "build",
    [
        lambda: DenseRows(array_of(np.ones(4), "<u8")),
        lambda: DenseRows(array_of(np.ones((2, 2)), "<i8")),
        lambda: dense([[1], [1]]),
        lambda: dense([[1, 1]], 15),
        lambda: dense([[1, 1]], 63),
        lambda: TwoLevelRows(
            2, array_of(np.ones(2), "<u8"), array_of(np.ones(1), "<u8"), array_of(np.ones((2, 1)), "|u1")
        ),
        lambda: TwoLevelRows(
            2, array_of(np.ones(1), "<u8"), array_of(np.ones(1), "<u8"), array_of(np.ones((1, 2)), "|u1")
        ),
    ],
)
def test_constructors_refuse_the_impossible(build: Any) -> None:
    with pytest.raises(InvalidValue):
        build()


def test_ten_thousand_outputs_take_two_bytes() -> None:
    table = np.full((10_000, 3), 2**60 // 10_000, dtype=np.uint64)
    kernel = dense(table)
    assert kernel.outputs == 10_001
    payloads = randomize_many(kernel, np.arange(3000) % 3, SeededRandomness(1))
    assert payloads.shape == (3000, 2)
    assert in_alphabet(kernel, payloads).all()
    assert not in_alphabet(kernel, np.array([[0xFF, 0xFF]], dtype=np.uint8)).any()
