"""The Merkle tree of a public log: hashes, paths to the root, and proofs of consistency, as in RFC 6962."""

from __future__ import annotations

import hashlib
from itertools import takewhile

from sordino_shared.protocol.ids import Digest


def leaf_hash(entry: bytes) -> Digest:
    """SHA-256(0 ‖ entry), RFC 6962 section 2.1."""
    return Digest(hashlib.sha256(b"\x00" + entry).digest())


def node_hash(left: bytes, right: bytes) -> Digest:
    """SHA-256(1 ‖ left ‖ right)."""
    return Digest(_node(left, right))


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of_path(index: int, size: int, leaf: Digest, path: tuple[Digest, ...]) -> Digest | None:
    """The root that a path leads to from leaf `index` of `size`; None for a path of another length.

    RFC 9162, section 2.1.3.2.
    """
    if index >= size:
        return None
    place, last, found = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            return None
        if place & 1 or place == last:
            found = node_hash(sibling, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, sibling)
        place, last = place >> 1, last >> 1
    return found if last == 0 else None


def is_consistent(first: tuple[int, Digest], second: tuple[int, Digest], path: tuple[Digest, ...]) -> bool:
    """Whether a tree (size, root) is the beginning of a later one; RFC 9162, section 2.1.4.2."""
    (size, root), (later_size, later_root) = first, second
    if size > later_size or size == 0:
        return False
    if size == later_size:
        return root == later_root and not path
    whole = size & (size - 1) == 0
    hashes = [root, *path] if whole else list(path)
    if not hashes:
        return False
    place, last = size - 1, later_size - 1
    trailing = len(list(takewhile(lambda bit: place >> bit & 1, range(64))))
    place, last = place >> trailing, last >> trailing
    old: bytes = hashes[0]
    new = old
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = _node(sibling, old), _node(sibling, new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new = _node(new, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and old == root and new == later_root
