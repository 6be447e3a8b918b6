"""Roots and proofs from tiles are those of the naive tree of RFC 6962, and hold for the reader that devices have."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from sordino_server.public_log.tree import TILE, TileTree, folded, tile_width
from sordino_shared.protocol.ids import Digest
from sordino_shared.protocol.log_tree import is_consistent, leaf_hash, node_hash, root_of_path

MOST = (1 << 13) + 1
LEAVES = [bytes(leaf_hash(number.to_bytes(4, "big"))) for number in range(MOST)]


@cache
def naive(low: int, high: int) -> Digest:
    """RFC 6962, section 2.1, by its recursion."""
    if high - low == 1:
        return Digest(LEAVES[low])
    cut = low + (1 << (high - low - 1).bit_length() - 1)
    return node_hash(naive(low, cut), naive(cut, high))


@cache
def tiles(level: int, index: int, width: int) -> Sequence[bytes]:
    """Hashes of full subtrees, as the tables have them."""
    if level == 0:
        return tuple(LEAVES[index * TILE : index * TILE + width])
    return tuple(folded(tiles(level - 1, index * TILE + place, TILE)) for place in range(width))


SIZES = [*range(1, 1001), *(size for k in range(10, 14) for size in (2**k - 1, 2**k, 2**k + 1))]


def test_roots_are_those_of_the_naive_tree() -> None:
    for size in SIZES:
        assert TileTree(size, tiles).root() == naive(0, size), size
    assert TileTree(0, tiles).root().hex().startswith("e3b0c44298fc1c14")


@pytest.mark.parametrize("sizes", [SIZES[::13], SIZES[-12:]])
def test_proofs_of_inclusion_hold_for_their_leaf_alone(sizes: list[int]) -> None:
    for size in sizes:
        tree, root = TileTree(size, tiles), naive(0, size)
        for index in {0, size // 3, size // 2, size - 1}:
            path = tree.inclusion(index)
            assert root_of_path(index, size, Digest(LEAVES[index]), path) == root
            assert root_of_path(index, size, Digest(bytes(32)), path) != root
            assert root_of_path((index + 1) % size, size, Digest(LEAVES[index]), path) != root or size == 1


@pytest.mark.parametrize("sizes", [SIZES[::13], SIZES[-12:]])
def test_proofs_of_consistency_hold_for_their_beginning_alone(sizes: list[int]) -> None:
    fork = Digest(bytes(32))
    for size in sizes:
        tree, root = TileTree(size, tiles), naive(0, size)
        for first in {1, max(1, size // 3), max(1, size - 1), size}:
            path = tree.consistency(first)
            assert is_consistent((first, naive(0, first)), (size, root), path)
            assert not is_consistent((first, fork), (size, root), path)
            assert not is_consistent((first, naive(0, first)), (size, fork), path)


def test_a_proof_reads_at_most_three_tiles_of_a_large_tree() -> None:
    """At 2^24 entries: one tile of each level."""
    asked: list[tuple[int, int]] = []

    def read(level: int, index: int, width: int) -> list[bytes]:
        asked.append((level, index))
        return [bytes(32)] * width

    tree = TileTree(1 << 24, read)
    assert len(tree.inclusion(9_876_543)) == 24
    assert len(asked) == 3


def test_widths_of_tiles() -> None:
    assert [tile_width(600, 0, index) for index in range(4)] == [256, 256, 88, 0]
    assert [tile_width(600, 1, index) for index in range(2)] == [2, 0]
    assert tile_width(65_536, 2, 0) == 1
