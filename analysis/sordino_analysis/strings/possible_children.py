"""Which bits can follow a path: after END and after NONE there are zeros alone, and NONE stands at the beginning.

Other bits are no device's code. A path without them leaves its places in the beam to children that a device may hold.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.text_codes.reading import End, ReadBits
from sordino_shared.domains import TextCode

Possible = NDArray[np.bool_]


class PossibleChildren:
    """Of one code; what was found for one path serves all that are cut within the same word."""

    def __init__(self, code: TextCode) -> None:
        self._code = code
        self._known: dict[tuple[str, bool, int], Possible] = {}

    def of(self, read: ReadBits, piece: int) -> Possible:
        """(2^piece,) whether some device's code goes on with these bits after a path."""
        if read.end is not End.OPEN:
            return _zeros(piece)
        return self._within(read.bits, bool(read.text), piece)

    def _within(self, cut: str, begun: bool, piece: int) -> Possible:
        """After the bits `cut` of a word, with or without words before it."""
        key = (cut, begun, piece)
        if key not in self._known:
            self._known[key] = self._found(cut, begun, piece)
        return self._known[key]

    def _found(self, cut: str, begun: bool, piece: int) -> Possible:
        # What ends within a longer word is possible.
        possible = np.ones(1 << piece, dtype=np.bool_)
        lengths, words = self._words
        rests = lengths - len(cut)
        begins = (rests >= 0) & (rests <= piece)
        begins &= words >> np.maximum(rests, 0) == (int(cut, 2) if cut else 0)
        for place in np.flatnonzero(begins).tolist():
            left = piece - int(rests[place])
            first = (int(words[place]) & ((1 << int(rests[place])) - 1)) << left
            possible[first : first + (1 << left)] = self._behind(place, begun, left)
        return possible

    def _behind(self, place: int, begun: bool, piece: int) -> Possible | bool:
        """After a whole word."""
        none = len(self._code.lengths) - 1
        if place == none and begun:
            return False
        return _zeros(piece) if place >= none - 1 else self._within("", True, piece)

    @cached_property
    def _words(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.array(list(self._code.lengths), dtype=np.int64), np.array(self._code.words, dtype=np.int64)


def _zeros(piece: int) -> Possible:
    only = np.zeros(1 << piece, dtype=np.bool_)
    only[0] = True
    return only
