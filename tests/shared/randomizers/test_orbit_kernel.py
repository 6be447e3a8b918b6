"""Orbit kernels: the length of the accumulator, how they travel, what is no law."""

from __future__ import annotations

import dataclasses
from itertools import product
from math import prod

import numpy as np
import pytest

from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.orbits import base_row
from sordino_analysis.vectorized.randomizers import in_alphabet, randomize_codes, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.schema import from_plain, to_plain
from sordino_shared.randomizers import AnyRandomizer, BaseRow, OrbitKernel

ONE = base_row(np.array([True, False]))
PAIR = base_row(np.array([[True, False, False], [False, True, True]]))
KERNEL = OrbitKernel(
    shape=(2, 3, 2),
    width=2,
    overlaps=False,
    bits=60,
    low=3 << 40,
    high=5 << 40,
    row_weights=(1 << 58, 3 << 58),
    rows=(ONE, PAIR),
)


def test_the_statistic_has_a_count_and_the_characters_for_each_row() -> None:
    frequencies = product(*map(range, KERNEL.shape))
    narrow = [r for r in frequencies if sum(map(bool, r)) <= KERNEL.width]
    assert KERNEL.accumulator_size == len(KERNEL.rows) * len(narrow)
    assert KERNEL.size == prod(KERNEL.shape)


def test_with_overlaps_it_has_the_characters_of_every_set_of_attributes() -> None:
    told = dataclasses.replace(KERNEL, shape=(2, 3, 1, 2), overlaps=True)
    assert told.accumulator_size == len(KERNEL.rows) * (1 + (2 + 3 + 2) + (2 * 3 + 2 * 2 + 3 * 2))


def test_it_travels() -> None:
    assert from_plain(AnyRandomizer, to_plain(KERNEL)) == KERNEL
    assert KERNEL.payload_bytes == 5
    assert len(KERNEL.randomize(3, SeededRandomness(1))) == 5


def changed(**fields: object) -> dict[str, object]:
    return {field.name: getattr(KERNEL, field.name) for field in dataclasses.fields(KERNEL)} | fields


@pytest.mark.parametrize(
    "fields",
    [
        changed(shape=()),
        changed(shape=(2, 3, 0)),
        changed(shape=(2, 3, 3)) | {"rows": (base_row(np.eye(2, dtype=bool)),) * 2},
        changed(shape=(1 << 11, 1 << 11, 2, 3)),
        changed(shape=(2, 3) + (2,) * 254, width=1),
        changed(width=0),
        changed(width=4),
        changed(low=0),
        changed(high=2 << 40),
        changed(high=1 << 61),
        changed(low=1 << 60, high=1 << 60),
        changed(row_weights=(1 << 58, 1 << 58)),
        changed(row_weights=(1 << 60,)),
        changed(row_weights=(0, 1 << 60)),
        changed(rows=(), row_weights=()),
        changed(shape=(1 << 12, 3, 2, 1 << 7), width=4),
    ],
)
def test_what_is_no_law_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        OrbitKernel(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "members"),
    [((2, 2), [0]), ((2, 2), [15]), ((2, 2), [16]), ((4,), [1, 0]), ((), [1]), ((1, 4), [1]), ((2,) * 13, [1] * 1024)],
)
def test_rows_that_are_no_sets_are_refused(shape: tuple[int, ...], members: list[int]) -> None:
    with pytest.raises(InvalidValue):
        BaseRow(shape, array_of(np.array(members), "|u1"))


def test_indices_of_members_have_the_reports_of_their_cells() -> None:
    cells = np.arange(12, dtype=np.int64).repeat(50)
    codes = np.stack(np.unravel_index(cells, KERNEL.shape), axis=1).astype(np.uint64)
    told = randomize_codes(KERNEL, codes, KERNEL.shape, SeededRandomness(2))
    assert np.array_equal(told, randomize_many(KERNEL, cells, SeededRandomness(2)))


def test_there_may_be_255_attributes_without_cell_numbers() -> None:
    wide = dataclasses.replace(KERNEL, shape=(3,) + (2,) * 254, width=1)
    codes = np.zeros((500, 255), dtype=np.uint64)
    payloads = randomize_codes(wide, codes, wide.shape, SeededRandomness(3))
    assert in_alphabet(wide, payloads).all()
    assert payloads[:, 1].max() > 250
    with pytest.raises(InvalidValue, match="no cell numbers"):
        randomize_many(wide, np.zeros(1, dtype=np.int64), SeededRandomness(3))
    with pytest.raises(InvalidValue, match="below the sizes"):
        randomize_codes(wide, codes + np.uint64(2), wide.shape, SeededRandomness(3))
