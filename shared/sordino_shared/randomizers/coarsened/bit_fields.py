"""Bit fields of a payload: unsigned integers one after the other, the first in the lowest bits, little-endian bytes."""

from __future__ import annotations

from collections.abc import Sequence


def pack_fields(fields: Sequence[int], widths: Sequence[int], payload_bytes: int) -> bytes:
    """The payload of unsigned integers below 2^width each; what is past the last field is 0."""
    packed, start = 0, 0
    for field, width in zip(fields, widths, strict=True):
        packed |= field << start
        start += width
    return packed.to_bytes(payload_bytes, "little")


def index_bits(count: int) -> int:
    """Bits that hold every index below `count`."""
    return (count - 1).bit_length()
