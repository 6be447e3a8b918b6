"""How many reports of a level hold each child of many parents: exact integers, 64 parents at a time.

A child is h·2^s + c for the parent's hash h and s raw bits c. With rows A_i of a report's matrix and a_j = ⊕_{i ∈ j}
A_i, it holds the child with 1/G Σ_j (−1)^(⟨j, y⟩ + ⟨a_j, child⟩), and ⟨a_j, child⟩ splits into the parity of a_j's low
bits with c, which one transform over 2^s has for all c, and that of its high bits with h, which is one bit of a word
for each of 64 parents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.coarsened.membership import label_rows
from sordino_analysis.evaluation.coarsened.parities import byte_tables, packed_parities
from sordino_analysis.evaluation.coarsened.vertical_counts import LANES, count_lanes
from sordino_analysis.evaluation.coarsened.walsh import transform, transform_columns
from sordino_analysis.vectorized.coarsened.binary_field import parity
from sordino_analysis.vectorized.coarsened.levels import LevelReports
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Level

Words = NDArray[np.uint64]
Integers = NDArray[np.int32]
# Pairs of a report and a character that are sorted at once: some 60 MB.
_PAIRS = 1_500_000
# Blocks of parents whose tables are kept while pairs are sorted: 64 MiB at 2^14 children.
_MOST_ENTRIES = 1 << 24
# Of a member of every attribute of strings.
_INDEX_BITS = 64
# Counts have 31 bits, and are G times as large before they are divided.
_MOST_SIGNED = 1 << 31
# Numpy sorts integers of so many bits by their digits.
_RADIX_BITS = 16


@dataclass(frozen=True, eq=False)
class LevelRows:
    """n reports of a level by the rows of their matrices: (n,) for each bit of the label, and (n,) y."""

    rows: Sequence[Words]
    shifted: Words

    @classmethod
    def of(cls, level: Level, sizes: tuple[int, ...], reports: LevelReports) -> LevelRows:
        """Raises InvalidValue where counts would not fit 31 bits."""
        if len(reports) * level.label.count >= _MOST_SIGNED:
            raise InvalidValue(f"a level has fewer than 2^31/{level.label.count} reports", len(reports))
        return cls(label_rows(level, sizes, reports), reports.shifted)

    def __len__(self) -> int:
        return len(self.shifted)

    def characters(self, reports: slice) -> tuple[Words, NDArray[np.bool_]]:
        """Words a_j (k,) and (k,) whether ⟨j, y⟩ is odd, of k pairs of a report and a j but 0."""
        rows, shifted = [row[reports] for row in self.rows], self.shifted[reports]
        some, labels = len(shifted), 1 << len(rows)
        words = np.empty((labels - 1, some), dtype=np.uint64)
        signs = np.empty((labels - 1, some), dtype=np.bool_)
        word, sign = np.zeros(some, dtype=np.uint64), np.zeros(some, dtype=np.bool_)
        for step in range(1, labels):
            bit = (step & -step).bit_length() - 1
            word = word ^ rows[bit]
            sign = sign ^ ((shifted >> np.uint64(bit)) & np.uint64(1)).astype(np.bool_)
            words[step - 1], signs[step - 1] = word, sign
        return words.reshape(-1), signs.reshape(-1)

    def batches(self) -> Iterator[slice]:
        """Reports whose pairs are sorted at once."""
        step = max(1, _PAIRS // ((1 << len(self.rows)) - 1))
        return (slice(start, start + step) for start in range(0, len(self), step))


def child_counts(reports: LevelRows, piece: int, parents: Words) -> Iterator[tuple[slice, Integers]]:
    """(2^piece, m) how many reports hold each child of some parents, which are given as a slice, m at most 64.

    `parents` (B,) are the hashes h. Every block of parents comes once.
    """
    together = max(1, _MOST_ENTRIES >> piece)
    if len(parents) == 1:
        yield slice(0, 1), _of_one_parent(reports, piece, parents[0])[:, None]
        return
    step = max(LANES, together // LANES * LANES)
    for start in range(0, len(parents), step):
        some = parents[start : start + step]
        for block, counts in zip(_blocks(len(some)), _of_parents(reports, piece, some), strict=True):
            yield slice(start + block.start, start + block.stop), counts


def _blocks(count: int) -> list[slice]:
    return [slice(start, min(start + LANES, count)) for start in range(0, count, LANES)]


def _of_one_parent(reports: LevelRows, piece: int, parent: np.uint64) -> Integers:
    signed = np.zeros(1 << piece, dtype=np.int32)
    for batch in reports.batches():
        words, signs = reports.characters(batch)
        odd = signs ^ parity((words >> np.uint64(piece)) & parent).astype(np.bool_)
        low = _low(words, piece)
        signed += np.bincount(low, minlength=1 << piece).astype(np.int32)
        signed -= 2 * np.bincount(low[odd], minlength=1 << piece).astype(np.int32)
    transform(signed)
    return _counts(signed, reports)


def _of_parents(reports: LevelRows, piece: int, parents: Words) -> Iterator[Integers]:
    blocks = _blocks(len(parents))
    tables = [byte_tables(parents[block], _INDEX_BITS - piece) for block in blocks]
    signed = [np.zeros((1 << piece, LANES), dtype=np.int32) for _ in blocks]
    for batch in reports.batches():
        pairs = _SortedPairs.of(*reports.characters(batch), piece)
        for table, total in zip(tables, signed, strict=True):
            total += pairs.signed(table)
    for block, total in zip(blocks, signed, strict=True):
        transform_columns(total)
        yield _counts(total[:, : block.stop - block.start], reports)


@dataclass(frozen=True, eq=False, kw_only=True)
class _SortedPairs:
    """Pairs by the place of their low bits: (2^s,) how many there are, their high bits and signs in `order` of places.

    Rank r of every place that has more than r pairs is a row; places go by falling numbers of pairs, so that a row is
    the first ones of all.
    """

    sizes: NDArray[np.int64]
    places: NDArray[np.intp]
    starts: NDArray[np.intp]
    high: Words
    signs: NDArray[np.bool_]

    @classmethod
    def of(cls, words: Words, signs: NDArray[np.bool_], piece: int) -> _SortedPairs:
        low = _low(words, piece)
        # Radix sort, since the kind is stable and the places have 16 bits.
        order = np.argsort(low.astype(np.uint16) if piece <= _RADIX_BITS else low, kind="stable")
        sizes = np.bincount(low, minlength=1 << piece)
        places = np.argsort(-sizes, kind="stable")
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)[places]
        high = (words >> np.uint64(piece))[order]
        return cls(sizes=sizes, places=places, starts=starts, high=high, signs=signs[order])

    def signed(self, tables: Words) -> Integers:
        """(2^s, 64) pairs less twice the odd ones, for each place and each parent of the tables."""
        words = packed_parities(self.high, tables, self.signs)
        lanes = count_lanes(self._rows(words), len(self.sizes))
        negative = np.empty_like(lanes)
        negative[self.places] = lanes
        return np.asarray(self.sizes[:, None].astype(np.int32) - 2 * negative)

    def _rows(self, words: Words) -> Iterator[Words]:
        sizes, row = self.sizes[self.places], np.zeros(len(self.sizes), dtype=np.uint64)
        for rank in range(int(sizes[0]) if len(sizes) else 0):
            held = int(np.searchsorted(-sizes, -rank, side="left"))
            row = np.zeros(len(self.sizes), dtype=np.uint64)
            row[:held] = words[self.starts[:held] + rank]
            yield row


def _low(words: Words, piece: int) -> NDArray[np.intp]:
    return (words & np.uint64((1 << piece) - 1)).astype(np.intp)


def _counts(signed: Integers, reports: LevelRows) -> Integers:
    """N = (n + Σ_j)/G, exactly."""
    return np.asarray((signed + np.int32(len(reports))) >> np.int32(len(reports.rows)))
