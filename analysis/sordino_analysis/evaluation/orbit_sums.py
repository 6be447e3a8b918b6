"""Character sums of the reports of an orbit kernel, exact in fixed point."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.character_tables import CharacterTables
from sordino_analysis.questions.linear.characters import Characters, Integers
from sordino_analysis.vectorized.orbits import parse_orbits
from sordino_shared.randomizers import OrbitKernel


class CharacterSums:
    """For each row Σ over its reports of (1, H_r for every r)/unit, each entry rounded to a multiple of 1/scale.

    Where the kernel sums by overlaps it is (1, for every set of attributes H_r for all r on it, H_0 = 1): a report
    counts for the sets that it holds.
    """

    def __init__(self, kernel: OrbitKernel, scale: int) -> None:
        self.kernel = kernel
        tables = CharacterTables(kernel, scale)
        characters = Characters(kernel.shape, kernel.width, kernel.pinned)
        self._places = _Places(characters, tables.least)
        self.one = tables.one
        self.largest = tables.largest
        self.most_together = tables.most_together
        self._tables = tables.rows

    def __call__(self, payloads: NDArray[np.uint8]) -> Integers:
        """(rows · (1 + p),) the sums over (n, width) payloads."""
        sums = np.zeros((len(self._tables), self._block), dtype=np.int64)
        for number, total in enumerate(sums):
            attributes, shifts = parse_orbits(self.kernel, payloads, number)
            total[0] = self.one * len(shifts)
            for places, values in self._entries(number, attributes, shifts):
                np.add.at(total, places, values)
        return sums.ravel()

    def each(self, payloads: NDArray[np.uint8]) -> Integers:
        """(s, n) the same of every report by itself, s = rows · (1 + p)."""
        found = np.zeros((len(self._tables), self._block, len(payloads)), dtype=np.int64)
        for number in range(len(self._tables)):
            holders = np.flatnonzero(payloads[:, 0] == number)
            found[number, 0, holders] = self.one
            for places, values in self._entries(number, *parse_orbits(self.kernel, payloads, number)):
                found[number, places, holders[:, None]] = values
        return found.reshape(-1, len(payloads))

    @property
    def _block(self) -> int:
        """Sums of one row."""
        return self.kernel.accumulator_size // len(self._tables)

    def _entries(self, row: int, attributes: Integers, shifts: Integers) -> Iterator[tuple[Integers, Integers]]:
        """(n, F) where reports of a row are counted, and as what; for every set of slots."""
        sizes = self.kernel.rows[row].shape
        for slots, table in self._tables[row]:
            yield 1 + self._places(attributes[:, slots], [sizes[slot] for slot in slots]), table[shifts]


class _Places:
    """Where the frequencies from `least` on of given attributes are counted."""

    def __init__(self, characters: Characters, least: int) -> None:
        self._least, starts = least, characters.starts if least else characters.table_starts
        self._starts = np.array([starts[s] for s in characters.supports], dtype=np.int64)
        wide = [attribute for attribute, size in enumerate(characters.shape) if size > 1]
        self._rank_of = np.zeros(len(characters.shape), dtype=np.int64)
        self._rank_of[wide] = np.arange(len(wide))
        most = min(characters.width, len(wide))
        self._choices = np.array([[math.comb(n, m) for m in range(most + 1)] for n in range(len(wide) + 1)])

    def __call__(self, attributes: Integers, sizes: list[int]) -> Integers:
        """(n, F) for (n, m) distinct attributes of these sizes; the frequencies in C order of the columns."""
        order = np.argsort(attributes, axis=1)
        lengths = np.array(sizes, dtype=np.int64)[order] - self._least
        strides = np.ones_like(lengths)
        strides[:, :-1] = np.cumprod(lengths[:, :0:-1], axis=1)[:, ::-1]
        by_column = np.empty_like(strides)
        np.put_along_axis(by_column, order, strides, axis=1)
        starts = self._starts[self._numbers(np.sort(attributes, axis=1))]
        frequencies = np.indices([size - self._least for size in sizes]).reshape(len(sizes), -1)
        return np.asarray(starts[:, None] + by_column @ frequencies)

    def _numbers(self, supports: Integers) -> Integers:
        """(n,) the places of (n, m) sorted supports among all: by their length, then lexicographically."""
        length, last = supports.shape[1], len(self._choices) - 2
        later = self._choices[last - self._rank_of[supports], np.arange(length, 0, -1)].sum(axis=1)
        return np.asarray(self._choices[-1, 1 : length + 1].sum() - 1 - later)
