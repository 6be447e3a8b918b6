"""How many reports of a shifted grid hold each value, without looking at every value in every report.

Reports are sorted by their offsets. Those of one offset are counted cell by cell, linear labels by one transform and
residues by their number; and since of all offsets exactly one has a border between x − 1 and x, what the values hold
is a cumulative sum over them: O(reports + values) for a level of any width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.coarsened.membership import Sizes, label_rows
from sordino_analysis.evaluation.coarsened.walsh import add_spectrum, transform_columns
from sordino_analysis.vectorized.coarsened.labels import labels_of, minus
from sordino_analysis.vectorized.coarsened.levels import LevelReports, level_members
from sordino_shared.randomizers import GridPartition, Level, ResidueLabel
from sordino_shared.randomizers.coarsened.labels import cell_bits

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
# 256 MiB of integers for the cells of every offset.
_MOST_CELLS = 1 << 25
# A table of sums by residue of so many entries is faster than adding in place.
_MOST_RESIDUES = 1 << 11


def is_countable(level: Level, sizes: Sizes) -> bool:
    """Whether the cells of all offsets fit into memory."""
    if not isinstance(level.partition, GridPartition):
        return False
    offsets = math.prod(_widths(level.partition))
    if isinstance(level.label, ResidueLabel):
        return level.label.count <= _MOST_RESIDUES and offsets * math.prod(level.shape(sizes)) <= _MOST_CELLS
    return offsets << cell_bits(level.shape(sizes)) <= _MOST_CELLS


def grid_counts(level: Level, sizes: Sizes, reports: LevelReports) -> Integers:
    """(m,) how many of the reports hold each combination of members that the grid looks at, in C order."""
    assert isinstance(level.partition, GridPartition)
    widths, shape = _widths(level.partition), level.shape(sizes)
    offsets = _offset_numbers(widths, reports)
    of_cells = _residues if isinstance(level.label, ResidueLabel) else _transformed
    counts = of_cells(level, sizes, reports, offsets, math.prod(widths)).reshape(*shape, *widths)
    for axis, attribute in enumerate(level.partition.attributes()):
        counts = _over_offsets(counts, axis, len(shape) - axis, sizes[attribute])
    return counts.reshape(-1)


def _widths(grid: GridPartition) -> list[int]:
    return [width for width in grid.widths if width]


def _offset_numbers(widths: Sequence[int], reports: LevelReports) -> NDArray[np.intp]:
    """(n,) numbers of the offsets of all axes together, the last varying fastest."""
    drawn, numbers = iter(reports.public), np.zeros(len(reports), dtype=np.intp)
    for width in widths:
        numbers = numbers * width
        if width > 1:
            numbers += next(drawn).astype(np.intp)
    return numbers


def _transformed(level: Level, sizes: Sizes, reports: LevelReports, offsets: NDArray[np.intp], count: int) -> Integers:
    """(cells, offsets) how many reports hold each cell of a linear or a field label."""
    shape = level.shape(sizes)
    table = np.zeros((1 << cell_bits(shape)) * count, dtype=np.int64)
    add_spectrum(table, level_members(level), label_rows(level, sizes, reports), reports.shifted, offsets, count)
    columns = table.reshape(-1, count)
    transform_columns(columns)
    columns //= level.label.count
    return columns[: math.prod(shape)]


def _residues(level: Level, sizes: Sizes, reports: LevelReports, offsets: NDArray[np.intp], count: int) -> Integers:
    """(cells, offsets) the same of residues."""
    label, shape = level.label, level.shape(sizes)
    pairs = reports.shifted.astype(np.intp) * count + offsets
    by_report = np.bincount(pairs, minlength=label.count * count).reshape(label.count, count)
    numbers = np.arange(label.count, dtype=np.uint64)
    inside = level_members(level)[minus(label, numbers[:, None], numbers[None, :]).astype(np.intp)]
    by_label = inside.astype(np.int64) @ by_report
    cells = [axis.reshape(-1) for axis in np.indices(shape, dtype=np.uint64)]
    return np.asarray(by_label[labels_of(label, cells, shape, []).astype(np.intp)])


def _over_offsets(counts: Integers, axis: int, apart: int, size: int) -> Integers:
    """Cells on `axis` with their offsets `apart` axes further, (…, cells, …, width, …) → (…, size, …)."""
    moved = np.moveaxis(counts, (axis, axis + apart), (0, 1))
    width = moved.shape[1]
    places = np.arange(1, size)
    offsets = -places % width
    cells = (places + offsets) // width
    found = np.empty((size, *moved.shape[2:]), dtype=np.int64)
    found[0] = moved[0].sum(axis=0)
    found[1:] = moved[cells, offsets] - moved[cells - 1, offsets]
    return np.moveaxis(np.cumsum(found, axis=0), 0, axis)
