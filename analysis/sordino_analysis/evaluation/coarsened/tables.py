"""The table that each level adds up: how many of its reports hold each combination of members it looks at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.coarsened.grid_counts import grid_counts, is_countable
from sordino_analysis.evaluation.coarsened.membership import Sizes, membership_counts, walsh_table
from sordino_analysis.evaluation.coarsened.walsh import transform
from sordino_analysis.evaluation.randomizers.sum_bounds import check_absolute_sum
from sordino_analysis.vectorized.coarsened.levels import LevelReports
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity
from sordino_shared.randomizers import Coarsened, GridPartition, Level, ResidueLabel

Integers = NDArray[np.int64]
_WORD = 1 << 63
Numbers = TypeVar("Numbers", NDArray[np.int64], NDArray[np.float64])


def split_sums(randomizer: Coarsened, sums: Integers) -> Iterator[tuple[int, Integers]]:
    """For each level its number of reports and its table (s,), a view of `sums` (p,); empty where none is kept."""
    start = 0
    for size in randomizer.table_sizes:
        yield int(sums[start]), sums[start + 1 : start + 1 + size]
        start += 1 + size


def add_reports(level: Level, sizes: Sizes, reports: LevelReports, table: Integers) -> None:
    """Add the reports of a level to its `table` (s,), which `Coarsened.table_sizes` describes."""
    if not len(table):
        return
    if is_walsh(level):
        walsh_table(level, sizes, reports, table)
        return
    if is_countable(level, sizes):
        table += grid_counts(level, sizes, reports)
        return
    assert isinstance(level.partition, GridPartition)
    table += membership_counts(level, sizes, reports, looked_at(level.partition, sizes))


def check_table(level: Level, reports: int, table: Integers) -> None:
    """Raise InvalidValue unless `reports` of the level can have this `table` (s,): each holds a value or does not.

    A Walsh table is transformed first. A report adds at most G entries of at most G to it, for G labels: a table with
    more would wrap, and look right in integers while the estimate, which is in floats, took it as it is.
    """
    held_by, one = table, 1
    if is_walsh(level):
        held_by, one = table.copy(), level.label.count
        check_absolute_sum(table, min(reports * one * one, _WORD), reports)
        transform(held_by)
    most = reports * one
    if reports < 0 or int(held_by.min()) < 0 or int(held_by.max()) > most or (held_by % one).any():
        raise InvalidValue(
            f"of {quantity(reports, 'report')} none to all hold a value; these say {held_by.min() / one:g} to "
            f"{held_by.max() / one:g}",
            reports,
        )


def is_walsh(level: Level) -> bool:
    """Whether the level's table holds Walsh coefficients, as cells are not shifted and their labels are linear."""
    return level.is_exact and not isinstance(level.label, ResidueLabel)


def reports_holding(level: Level, sizes: Sizes, table: Numbers) -> Numbers:
    """How many reports, or which share, hold each combination of members that a grid looks at.

    (m_1, …, m_d) for the attributes that the grid looks at, from `table` (s,); the last varies fastest.
    """
    assert isinstance(level.partition, GridPartition)
    shape = tuple(sizes[attribute] for attribute in level.partition.attributes())
    if not is_walsh(level):
        return table.reshape(shape)
    counts = table.copy()
    transform(counts)
    whole = counts[: np.prod(shape)].reshape(shape)
    divide = np.floor_divide if whole.dtype.kind == "i" else np.true_divide
    divide(whole, level.label.count, out=whole)
    return whole


def looked_at(grid: GridPartition, sizes: Sizes) -> NDArray[np.uint64]:
    """(m, attributes) every combination of members that a grid looks at; the other attributes are 0."""
    chosen = grid.attributes()
    members = np.indices([sizes[a] for a in chosen], dtype=np.uint64).reshape(len(chosen), -1)
    points = np.zeros((members.shape[1], len(sizes)), dtype=np.uint64)
    points[:, chosen] = members.T
    return points
