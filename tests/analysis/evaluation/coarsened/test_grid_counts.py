"""Counts of shifted grids against membership in each report."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.evaluation.coarsened.grid_counts import grid_counts, is_countable
from sordino_analysis.evaluation.coarsened.membership import membership_counts
from sordino_analysis.evaluation.coarsened.tables import looked_at
from sordino_analysis.vectorized.coarsened.reports import unpack_coarsened
from sordino_analysis.vectorized.randomizers import randomize_codes
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened, GridPartition, Level, LinearLabel, ResidueLabel
from sordino_shared.randomizers.coarsened import FieldLabel

LEVELS = [
    ((50,), Level(1 << 32, GridPartition((1,)), LinearLabel(2), b"\x01")),
    ((50,), Level(1 << 32, GridPartition((7,)), LinearLabel(3), b"\x07")),
    ((50,), Level(1 << 32, GridPartition((100,)), LinearLabel(1), b"\x01")),
    ((50,), Level(1 << 32, GridPartition((6,)), FieldLabel(2), b"\x01")),
    ((50,), Level(1 << 32, GridPartition((9,)), ResidueLabel((5,)), b"\x03")),
    ((50,), Level(1 << 32, GridPartition((40,)), ResidueLabel((2,)), b"\x01")),
    ((9, 12), Level(1 << 32, GridPartition((3, 5)), LinearLabel(2), b"\x01")),
    ((9, 12), Level(1 << 32, GridPartition((0, 5)), LinearLabel(2), b"\x01")),
    ((9, 12), Level(1 << 32, GridPartition((1, 4)), LinearLabel(2), b"\x03")),
    ((9, 12), Level(1 << 32, GridPartition((2, 7)), ResidueLabel((3, 2)), b"\x05")),
]


@pytest.mark.parametrize(("sizes", "level"), LEVELS)
def test_counts_are_those_of_each_report(sizes: tuple[int, ...], level: Level) -> None:
    randomizer = Coarsened.for_guarantee(sizes, [level], PureEpsilon.of(1))
    random = np.random.default_rng(7)
    codes = np.stack([random.integers(0, size, 400, dtype=np.uint64) for size in sizes], axis=1)
    payloads = randomize_codes(randomizer, codes, sizes, SeededRandomness(8))
    ((_, reports),) = unpack_coarsened(randomizer, payloads)
    assert is_countable(level, sizes)
    assert isinstance(level.partition, GridPartition)
    expected = membership_counts(level, sizes, reports, looked_at(level.partition, sizes))
    np.testing.assert_array_equal(grid_counts(level, sizes, reports), expected)
    assert expected.max() > 0
