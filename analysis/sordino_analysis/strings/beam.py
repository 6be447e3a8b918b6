"""The heavy paths of a text code, level by level: the best prefixes by their odds, which the next level extends.

With x the estimate of a prefix in standard errors and δ the sought share in the same, a prefix that has the sought
share is more likely than one that nobody has by exp(xδ − δ²/2); its prior odds are those of its parent, spread over
the children.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.strings.chances import StringChances
from sordino_analysis.strings.level_counts import Integers, LevelRows, Words, child_counts
from sordino_analysis.strings.possible_children import PossibleChildren
from sordino_analysis.text_codes.reading import CodeReader, End, ReadBits
from sordino_shared.domains import Text, TextPrefix

# One string that everybody has would have infinite odds.
_SURE = 1 - 1e-12
# Children are looked at, best first, until so many times the beam: of some codes a half splits tokens into their parts.
_CHECKED = 2
# Odds of exp(−700) are not told from none.
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class Paths:
    """m prefixes of a code: their bits as integers, best first, (m,) λ, the log odds of each, and what they say."""

    codes: tuple[int, ...]
    odds: Floats
    reads: tuple[ReadBits, ...]

    @classmethod
    def root(cls) -> Paths:
        """The empty prefix, which every device has."""
        return cls((0,), np.array([math.inf]), (ReadBits(b"", End.OPEN),))

    @property
    def chances(self) -> Floats:
        """(m,) π, the chance that a prefix has the sought share, as its path says."""
        return np.clip(1 / (1 + np.exp(-self.odds)), _LEAST, _SURE)


@dataclass(frozen=True, eq=False, kw_only=True)
class PathSearch:
    """Extends paths: `beam` of them are kept, and `sought` is the share that they are scored for."""

    text: Text
    reader: CodeReader
    chances: StringChances
    beam: int
    sought: float

    def extended(self, paths: Paths, prefix: TextPrefix, reports: LevelRows) -> Paths:
        """The best children of the paths by the reports of a level."""
        piece = prefix.last - prefix.first
        # After END all bits are zeros: one child has all of the chance, and there are no others.
        spread = np.array([2.0**-piece if read.end is End.OPEN else 1.0 for read in paths.reads])
        best, prior = _Best(_CHECKED * self.beam), _log_odds(paths.chances * spread)
        for block, counts in self.counts_of_children(paths, prefix, reports):
            scores = self._gain(counts, len(reports)) + prior[block]
            for column, read in enumerate(paths.reads[block]):
                scores[~self._possible.of(read, piece), column] = -math.inf
            best.add(scores, block.start)
        return self._read(paths, best, prefix)

    def counts_of_children(
        self, paths: Paths, prefix: TextPrefix, reports: LevelRows
    ) -> Iterator[tuple[slice, Integers]]:
        """For blocks of the paths (2^s, m) how many of the reports hold each child."""
        return child_counts(reports, prefix.last - prefix.first, self._parents(paths, prefix))

    @cached_property
    def _possible(self) -> PossibleChildren:
        return PossibleChildren(self.text.code)

    def _parents(self, paths: Paths, prefix: TextPrefix) -> Words:
        piece = prefix.last - prefix.first
        left = self.text.depth - prefix.first
        return np.array([prefix.index_of(self.text, code << left) >> piece for code in paths.codes], dtype=np.uint64)

    def _gain(self, counts: Integers, reports: int) -> Floats:
        """(2^s, m) xδ − δ²/2."""
        if not reports:
            return np.zeros(counts.shape)
        other, span = float(self.chances.other), float(self.chances.own - self.chances.other)
        error = math.sqrt(self.chances.variance / reports)
        sought = self.sought / error
        return np.asarray((counts / reports - other) * (sought / (span * error)) - sought**2 / 2)

    def _read(self, paths: Paths, best: _Best, prefix: TextPrefix) -> Paths:
        piece = prefix.last - prefix.first
        codes, odds, reads = list[int](), list[float](), list[ReadBits]()
        for score, parent, child in best.ranked():
            code = paths.codes[parent] << piece | child
            read = self.reader.read(code, prefix.last)
            if read.end is not End.IMPOSSIBLE and len(codes) < self.beam:
                codes.append(code)
                odds.append(score)
                reads.append(read)
        return Paths(tuple(codes), np.array(odds), tuple(reads))


class _Best:
    """The best of all children that were added: the least numbers of those with equal scores come first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._scores = np.empty(0)
        self._parents = np.empty(0, dtype=np.int64)
        self._children = np.empty(0, dtype=np.int64)

    def add(self, scores: Floats, first: int) -> None:
        """Children (2^s, m) of the m parents from number `first` on."""
        flat = scores.reshape(-1)
        chosen = np.flatnonzero(flat > self._least())
        if len(chosen) > self._most:
            # Whole groups of equal scores stay, so that the order of parents and children decides between them.
            least = np.partition(flat[chosen], len(chosen) - self._most)[len(chosen) - self._most]
            chosen = chosen[flat[chosen] >= least]
        children, parents = np.divmod(chosen, scores.shape[1])
        self._scores = np.concatenate([self._scores, flat[chosen]])
        self._parents = np.concatenate([self._parents, parents + first])
        self._children = np.concatenate([self._children, children])
        order = np.lexsort((self._children, self._parents, -self._scores))[: self._most]
        self._scores, self._parents = self._scores[order], self._parents[order]
        self._children = self._children[order]

    def ranked(self) -> Sequence[tuple[float, int, int]]:
        """Score, parent and child, best first."""
        together = zip(self._scores.tolist(), self._parents.tolist(), self._children.tolist(), strict=True)
        return list(together)

    def _least(self) -> float:
        return -math.inf if len(self._scores) < self._most else float(self._scores[-1])


def _log_odds(chances: Floats | float) -> Floats:
    return np.asarray(np.log(np.maximum(chances, _LEAST)) - np.log1p(-np.minimum(chances, _SURE)))
