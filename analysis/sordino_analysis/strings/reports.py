"""The reports of a round of strings, level by level: what is counted in them is counted in the log itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.coarsened.cell_counts import cell_counts
from sordino_analysis.strings.level_counts import LevelRows
from sordino_analysis.vectorized.coarsened.levels import LevelReports
from sordino_analysis.vectorized.coarsened.reports import unpack_coarsened
from sordino_shared.randomizers import Coarsened

# The level of the attribute `text`, whose reports certify and count; the others choose what is looked at.
HELD_OUT = 0


@dataclass(frozen=True, eq=False)
class StringReports:
    """(n_ℓ,) multipliers and (n_ℓ,) labels of each level: 16 bytes a report."""

    randomizer: Coarsened
    levels: tuple[LevelReports, ...]

    @classmethod
    def of(cls, randomizer: Coarsened, pages: Iterable[NDArray[np.uint8]]) -> StringReports:
        """All (n, width) payloads of some pages, which must be in the alphabet."""
        words: list[list[NDArray[np.uint64]]] = [[np.empty(0, dtype=np.uint64)] for _ in randomizer.levels]
        shifted: list[list[NDArray[np.uint64]]] = [[np.empty(0, dtype=np.uint64)] for _ in randomizer.levels]
        for payloads in pages:
            for number, reports in unpack_coarsened(randomizer, payloads) if len(payloads) else ():
                words[number].append(reports.words[0])
                shifted[number].append(reports.shifted)
        together = zip(words, shifted, strict=True)
        return cls(randomizer, tuple(LevelReports([], [np.concatenate(a)], np.concatenate(y)) for a, y in together))

    @property
    def count(self) -> int:
        """n, the reports of all levels."""
        return sum(map(len, self.levels))

    def held_counts(self, number: int, members: NDArray[np.uint64]) -> NDArray[np.int64]:
        """(m,) how many reports of a level hold each of the `members` (m,) of its attribute."""
        level = self.randomizer.levels[number]
        return cell_counts(level, level.shape(self.randomizer.sizes), self.levels[number], members)

    def rows(self, number: int) -> LevelRows:
        """The reports of a level by the rows of their matrices."""
        return LevelRows.of(self.randomizer.levels[number], self.randomizer.sizes, self.levels[number])
