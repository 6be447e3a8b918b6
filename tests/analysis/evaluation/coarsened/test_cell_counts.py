"""Counts of 64 cells at a time are those of `membership_counts`, one cell after the other."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.evaluation.coarsened import membership_counts
from sordino_analysis.evaluation.coarsened.cell_counts import cell_counts
from sordino_analysis.evaluation.coarsened.vertical_counts import count_lanes
from sordino_analysis.vectorized.coarsened.levels import LevelReports
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import FieldLabel, GridPartition, Level, LinearLabel, ResidueLabel
from sordino_shared.randomizers.coarsened import Label

# Members that are the first, all but one, every other and none in a row.
MEMBERS = {"first": 0b1, "first three": 0b111, "all but one": 0b11111101, "scattered": 0b10010110}


def level(label: Label, members: int) -> Level:
    return Level(1 << 32, GridPartition((1,)), label, members.to_bytes(1, "little"))


def drawn(label: Label, cell_bits: int, count: int) -> LevelReports:
    rng = np.random.default_rng(cell_bits)
    words = [rng.integers(0, 1 << bits, size=count, dtype=np.uint64) for bits in label.word_bits((1 << cell_bits,))]
    return LevelReports([], words, rng.integers(0, label.count, size=count, dtype=np.uint64))


@pytest.mark.parametrize("label", [FieldLabel(3), LinearLabel(3)], ids=["field", "linear"])
@pytest.mark.parametrize("cell_bits", [9, 64])
@pytest.mark.parametrize("members", MEMBERS.values(), ids=MEMBERS)
def test_counts_are_those_of_memberships(label: Label, cell_bits: int, members: int) -> None:
    shape, reports = (1 << cell_bits,), drawn(label, cell_bits, 700)
    cells = np.random.default_rng(5).integers(0, shape[0], size=67, dtype=np.uint64)
    found = cell_counts(level(label, members), shape, reports, cells)
    assert np.array_equal(found, membership_counts(level(label, members), shape, reports, cells[:, None]))
    assert 0 < found.min() < found.max() < 700


@pytest.mark.parametrize(("reports", "cells"), [(0, 3), (1, 3), (5000, 1), (40, 0)])
def test_few_reports_and_few_cells(reports: int, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sordino_analysis.evaluation.coarsened.cell_counts._BATCH", 1500)
    one, some = level(FieldLabel(2), 1), drawn(FieldLabel(2), 64, reports)
    items = np.arange(cells, dtype=np.uint64)
    found = cell_counts(one, (1 << 64,), some, items)
    assert np.array_equal(found, membership_counts(one, (1 << 64,), some, items[:, None]))


def test_residues_are_refused() -> None:
    label = ResidueLabel((8,))
    with pytest.raises(InvalidValue, match="no linear labels"):
        cell_counts(level(label, 1), (16,), LevelReports([], [], np.zeros(2, np.uint64)), np.zeros(1, np.uint64))


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 7, 64, 101])
def test_vertical_counters_count(rows: int) -> None:
    words = np.random.default_rng(rows).integers(0, 1 << 64, size=(rows, 5), dtype=np.uint64)
    bits = (words[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.array_equal(count_lanes(words, 5), bits.sum(axis=0))
