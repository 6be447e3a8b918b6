"""Bit fields of many payloads; see `sordino_shared.randomizers.coarsened.bit_fields`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.vectorized.payloads import Payloads
from sordino_analysis.vectorized.randomness import Words

# Bits of a machine word.
WORD = 64


def pack_fields(fields: Sequence[Words], widths: Sequence[int], payload_bytes: int) -> Payloads:
    """(n, payload_bytes) of (n,) unsigned integers below 2^width each; what is past the last field is 0."""
    words = np.zeros((-(-payload_bytes // 8), len(fields[0])), dtype=np.uint64)
    start = 0
    for field, width in zip(fields, widths, strict=True):
        if width:
            at, shift = divmod(start, WORD)
            words[at] |= field << np.uint64(shift)
            if shift + width > WORD:
                words[at + 1] |= field >> np.uint64(WORD - shift)
        start += width
    rows = np.ascontiguousarray(words.T.astype("<u8")).view(np.uint8).reshape(len(fields[0]), -1)
    return np.ascontiguousarray(rows[:, :payload_bytes])


def unpack_fields(payloads: Payloads, widths: Sequence[int]) -> list[Words]:
    """(n,) integers of each field, the inverse of `pack_fields`."""
    padded = np.zeros((len(payloads), -(-payloads.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : payloads.shape[1]] = payloads
    words = np.ascontiguousarray(padded.view("<u8").astype(np.uint64).T)
    fields, start = [], 0
    for width in widths:
        fields.append(_field(words, start, width))
        start += width
    return fields


def _field(words: Words, start: int, width: int) -> Words:
    if not width:
        return np.zeros(words.shape[1], dtype=np.uint64)
    at, shift = divmod(start, WORD)
    field = words[at] >> np.uint64(shift)
    if shift + width > WORD:
        field |= words[at + 1] << np.uint64(WORD - shift)
    return np.asarray(field & np.uint64((1 << width) - 1), dtype=np.uint64)


def is_zero_past(payloads: Payloads, start: int) -> NDArray[np.bool_]:
    """(n,) whether every bit from bit `start` on is 0."""
    at, shift = divmod(start, 8)
    if at >= payloads.shape[1]:
        return np.ones(len(payloads), dtype=np.bool_)
    rest = payloads[:, at] >> np.uint8(shift)
    return np.asarray((rest == 0) & ~payloads[:, at + 1 :].any(axis=1))
