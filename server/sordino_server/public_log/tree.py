"""Roots and proofs of a log's tree from its tiles alone (RFC 6962; tiles of 256 hashes as in C2SP tlog-tiles).

A tile of level 0 has leaves, one of level l the hashes of 256^l entries each. The server reads tiles from its tables, a
monitor and a restored server from a folder or from HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sordino_shared.protocol.ids import Digest
from sordino_shared.protocol.log_tree import node_hash

TILE = 256
_BITS = 8
# SHA-256 of nothing is the root of the empty tree, RFC 6962 section 2.1.
EMPTY_ROOT = Digest.of(b"")

# The first `width` hashes of a tile by its level and index.
ReadTile = Callable[[int, int, int], Sequence[bytes]]


@dataclass(frozen=True)
class TileTree:
    """A tree of `size` leaves over tiles, each of which is read once."""

    size: int
    read: ReadTile
    _tiles: dict[tuple[int, int], Sequence[bytes]] = field(default_factory=dict)

    def root(self) -> Digest:
        """The hash of all leaves."""
        return self._range(0, self.size) if self.size else EMPTY_ROOT

    def inclusion(self, index: int) -> tuple[Digest, ...]:
        """The path from leaf `index` to the root, RFC 6962 section 2.1.1."""
        path: list[Digest] = []
        low, high = 0, self.size
        while high - low > 1:
            cut = low + _split(high - low)
            if index < cut:
                path.append(self._range(cut, high))
                high = cut
            else:
                path.append(self._range(low, cut))
                low = cut
        return tuple(reversed(path))

    def consistency(self, first: int) -> tuple[Digest, ...]:
        """The proof that the first leaves are a beginning of this tree, RFC 6962 section 2.1.2; `first` from 1."""
        path: list[Digest] = []
        low, high, whole = 0, self.size, True
        while first != high:
            cut = low + _split(high - low)
            if first <= cut:
                path.append(self._range(cut, high))
                high = cut
            else:
                path.append(self._range(low, cut))
                low, whole = cut, False
        return tuple(reversed(path)) if whole else (self._range(low, high), *reversed(path))

    def _range(self, low: int, high: int) -> Digest:
        """The hash of leaves low … high − 1, as the recursion of the RFC cuts them."""
        count = high - low
        if count & (count - 1) == 0:
            return self._node(count.bit_length() - 1, low // count)
        cut = low + _split(count)
        return node_hash(self._range(low, cut), self._range(cut, high))

    def _node(self, height: int, index: int) -> Digest:
        """The hash of the 2^height leaves from index · 2^height on."""
        level, rest = divmod(height, _BITS)
        first = index << rest
        tile = self._tile(level, first // TILE)
        return folded(tile[first % TILE : first % TILE + (1 << rest)])

    def _tile(self, level: int, index: int) -> Sequence[bytes]:
        if (level, index) not in self._tiles:
            width = tile_width(self.size, level, index)
            self._tiles[level, index] = self.read(level, index, width)
        return self._tiles[level, index]


def tile_width(size: int, level: int, index: int) -> int:
    """How many hashes tile `index` of a level has in a tree of `size`: 0 where there is none."""
    return max(0, min(TILE, (size >> _BITS * level) - TILE * index))


def folded(hashes: Sequence[bytes]) -> Digest:
    """The root over 2^k hashes."""
    found = list(hashes)
    while len(found) > 1:
        found = [node_hash(left, right) for left, right in zip(found[::2], found[1::2], strict=True)]
    return Digest(found[0])


def _split(count: int) -> int:
    """The largest power of two below a count of at least 2."""
    return 1 << (count - 1).bit_length() - 1
