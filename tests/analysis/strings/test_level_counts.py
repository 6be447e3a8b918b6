"""Counts of 64 parents at a time are those of `membership_counts`, one value after the other."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.evaluation.coarsened import membership_counts
from sordino_analysis.strings.level_counts import LevelRows, child_counts
from sordino_analysis.vectorized.coarsened.levels import LevelReports
from sordino_shared.randomizers import FieldLabel, GridPartition, Level

SIZES = (1 << 64,)
PIECE = 8


def level(label_bits: int) -> Level:
    return Level.of_first(1 << 32, GridPartition((1,)), FieldLabel(label_bits), 1)


def reports(label_bits: int, count: int, seed: int = 1, *, alike: bool = False, zero: bool = False) -> LevelReports:
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1 << 64, size=count, dtype=np.uint64, endpoint=False)
    shifted = rng.integers(0, 1 << label_bits, size=count, dtype=np.uint64)
    if alike:
        words, shifted = np.full_like(words, 37), np.full_like(shifted, 1)
    if zero:
        shifted = np.zeros_like(shifted)
    return LevelReports([], [words], shifted)


def parents(count: int, piece: int = PIECE) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 1 << (64 - piece), size=count, dtype=np.uint64)


@pytest.mark.parametrize("label_bits", [1, 2, 5])
@pytest.mark.parametrize(
    ("count", "how"), [(300, {}), (0, {}), (1, {}), (70, {"alike": True}), (90, {"zero": True})], ids=str
)
def test_counts_of_children_are_those_of_memberships(label_bits: int, count: int, how: dict[str, bool]) -> None:
    drawn, hashes = reports(label_bits, count, **how), parents(70)
    rows = LevelRows.of(level(label_bits), SIZES, drawn)
    found = np.concatenate([counts.T for _, counts in child_counts(rows, PIECE, hashes)])
    children = (hashes[:, None] << np.uint64(PIECE)) + np.arange(1 << PIECE, dtype=np.uint64)
    expected = membership_counts(level(label_bits), SIZES, drawn, children.reshape(-1, 1)).reshape(found.shape)
    assert np.array_equal(found, expected)
    assert found.shape == (70, 256)


@pytest.mark.parametrize("piece", [1, 8, 17])
def test_one_parent_and_any_piece(piece: int) -> None:
    drawn, hashes = reports(2, 200), parents(3, piece)
    rows = LevelRows.of(level(2), SIZES, drawn)
    together = {block.start: counts for block, counts in child_counts(rows, piece, hashes)}[0]
    for place in range(3):
        ((_, alone),) = child_counts(rows, piece, hashes[place : place + 1])
        assert np.array_equal(alone[:, 0], together[:, place])


def test_batches_of_reports_and_blocks_of_parents_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, hashes = reports(3, 500), parents(150)
    rows = LevelRows.of(level(3), SIZES, drawn)
    whole = np.concatenate([counts.T for _, counts in child_counts(rows, PIECE, hashes)])
    monkeypatch.setattr("sordino_analysis.strings.level_counts._PAIRS", 700)
    monkeypatch.setattr("sordino_analysis.strings.level_counts._MOST_ENTRIES", 1 << 14)
    assert np.array_equal(np.concatenate([counts.T for _, counts in child_counts(rows, PIECE, hashes)]), whole)
