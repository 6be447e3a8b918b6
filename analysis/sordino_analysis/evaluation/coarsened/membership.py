"""Which values a report of a coarsened randomizer holds: those whose z = t ⊖ y is one of the level's members."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.coarsened.walsh import add_spectrum
from sordino_analysis.vectorized.coarsened.labels import labels_of, matrix_rows, minus
from sordino_analysis.vectorized.coarsened.levels import LevelReports, level_members
from sordino_analysis.vectorized.coarsened.partitions import cell_coordinates
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Level, ResidueLabel

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
Sizes = tuple[int, ...]
# Entries that are held at once: 8 MiB.
_BATCH_ENTRIES = 1 << 20


def label_rows(level: Level, sizes: Sizes, reports: LevelReports) -> Sequence[Words]:
    """(n,) rows of each report's matrix A with t = A·c, one array for each bit of the label.

    Raises InvalidValue for residues, which are not linear.
    """
    if isinstance(level.label, ResidueLabel):
        raise InvalidValue("residues are no linear labels: they have no matrix", level.label)
    return matrix_rows(level.label, level.shape(sizes), reports.words)


def membership(level: Level, sizes: Sizes, reports: LevelReports, points: Words) -> NDArray[np.bool_]:
    """(n, m) whether each of n reports holds each of the values `points` (m, attributes)."""
    public, words = ([array[:, None] for array in arrays] for arrays in (reports.public, reports.words))
    coordinates = cell_coordinates(level.partition, points[None], public)
    labels = labels_of(level.label, coordinates, level.shape(sizes), words)
    shifts = minus(level.label, labels, reports.shifted[:, None])
    inside: NDArray[np.bool_] = level_members(level)[shifts.astype(np.intp)]
    return np.broadcast_to(inside, (len(reports), len(points)))


def membership_counts(level: Level, sizes: Sizes, reports: LevelReports, points: Words) -> Integers:
    """(m,) how many of the reports hold each of the values `points` (m, attributes), one by one."""
    counts = np.zeros(len(points), dtype=np.int64)
    step = max(1, _BATCH_ENTRIES // max(len(points), 1))
    for start in range(0, len(reports), step):
        some = reports.some(slice(start, start + step))
        counts += membership(level, sizes, some, points).sum(axis=0, dtype=np.int64)
    return counts


def walsh_table(level: Level, sizes: Sizes, reports: LevelReports, table: Integers) -> None:
    """Add the reports of a linear or a field label to the (2^r,) table of their cells."""
    add_spectrum(table, level_members(level), label_rows(level, sizes, reports), reports.shifted)
