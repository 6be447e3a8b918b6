"""How many reports of a linear or a field label hold each of some cells, 64 cells at a time: exact integers.

A label is linear in the words of a report too: bit i of the label of a cell c is the parity of the word and M_i, with M
the matrix of c. Tables of bytes give it for 64 cells at once, one bit of a word for each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.coarsened.parities import byte_tables, packed_parities
from sordino_analysis.evaluation.coarsened.vertical_counts import LANES, count_lanes
from sordino_analysis.vectorized.coarsened.labels import matrix_rows
from sordino_analysis.vectorized.coarsened.levels import LevelReports, level_members
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import FieldLabel, Level, ResidueLabel
from sordino_shared.randomizers.coarsened.labels import cell_bits
from sordino_shared.randomizers.coarsened.partitions import Sizes

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
# Reports whose words are looked at together: 8 MiB for each bit of the label.
_BATCH = 1 << 20
# Reports of a row that is added at once: it stays in a processor's cache.
_ROW = 1 << 12
_NONE, _ALL = np.uint64(0), np.uint64((1 << 64) - 1)


def cell_counts(level: Level, shape: Sizes, reports: LevelReports, cells: Words) -> Integers:
    """(m,) how many of the reports of a level with cells of this shape hold each of the `cells` (m,), by their numbers.

    Raises InvalidValue for residues, which are not linear.
    """
    if isinstance(level.label, ResidueLabel):
        raise InvalidValue("residues are no linear labels: they have no matrix", level.label)
    counts = np.zeros(len(cells), dtype=np.int64)
    for start in range(0, len(cells), LANES):
        some = cells[start : start + LANES]
        tables = _tables(level, shape, some)
        for first in range(0, len(reports), _BATCH):
            batch = reports.some(slice(first, first + _BATCH))
            counts[start : start + LANES] += _held(level, batch, tables)[: len(some)]
    return counts


def _tables(level: Level, shape: Sizes, cells: Words) -> Sequence[Words]:
    """The tables of each bit of the label: of M_i of a field label, and of the cells of a linear one."""
    bits = cell_bits(shape)
    if isinstance(level.label, FieldLabel):
        return [byte_tables(row, bits) for row in matrix_rows(level.label, shape, [cells])]
    return [byte_tables(cells, bits)] * len(level.label.word_bits(shape))


def _held(level: Level, reports: LevelReports, tables: Sequence[Words]) -> Integers:
    """(64,) how many of the reports hold each cell of the tables."""
    words = [*reports.words] * (len(tables) if isinstance(level.label, FieldLabel) else 1)
    planes = list[Words]()
    for bit, (word, table) in enumerate(zip(words, tables, strict=True)):
        odd = ((reports.shifted >> np.uint64(bit)) & np.uint64(1)).astype(np.bool_)
        planes.append(packed_parities(word, table, odd))
    padded = np.zeros(-(-len(reports) // _ROW) * _ROW, dtype=np.uint64)
    padded[: len(reports)] = _inside(level_members(level), planes)
    return np.asarray(count_lanes(padded.reshape(-1, _ROW), _ROW).sum(axis=0, dtype=np.int64))


def _inside(members: NDArray[np.bool_], planes: Sequence[Words]) -> Words | np.uint64:
    """(n,) whether the labels z of 64 cells are members: bit b of `planes[i]` (n,) is bit i of cell b's."""
    if not members.any():
        return _NONE
    if members.all():
        return _ALL
    half = len(members) // 2
    low, high = (_inside(some, planes[:-1]) for some in (members[:half], members[half:]))
    return low ^ ((low ^ high) & planes[-1])
