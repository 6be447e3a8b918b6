"""Parities of words with 64 vectors at once: bit b of a result is the parity with vector b, by tables of bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
# Bits that one look into a table has.
_BYTE = 8
_ZERO = np.uint64(0)
_ALL = np.uint64((1 << 64) - 1)


def byte_tables(vectors: Words, bits: int) -> Words:
    """(bytes, 256) for each byte of a word of so many bits: bit b is the parity of the byte's value with vector b.

    `vectors` (m,) are at most 64.
    """
    shifts = np.arange(0, max(bits, 1), _BYTE, dtype=np.uint64)
    tables = np.zeros((len(shifts), 1 << _BYTE), dtype=np.uint64)
    # The columns of vectors as words: bit b of column j is bit j of vector b.
    lanes = np.arange(len(vectors), dtype=np.uint64)
    for at, shift in enumerate(shifts):
        for bit in range(_BYTE):
            held = (vectors >> (shift + np.uint64(bit))) & np.uint64(1)
            column = np.bitwise_or.reduce(held << lanes, initial=_ZERO) if len(vectors) else _ZERO
            # Values with this bit are those without it, plus the column.
            tables[at, 1 << bit : 2 << bit] = tables[at, : 1 << bit] ^ column
    return tables


def packed_parities(words: Words, tables: Words, signs: NDArray[np.bool_]) -> Words:
    """(n,) bit b is the parity of a word with vector b, xored with the word's sign."""
    found = np.where(signs, _ALL, _ZERO)
    bytes_of = np.ascontiguousarray(words.astype("<u8", copy=False)).view(np.uint8).reshape(len(words), _BYTE)
    for at, table in enumerate(tables):
        found ^= table[bytes_of[:, at]]
    return found
