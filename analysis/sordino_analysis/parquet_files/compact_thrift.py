"""Thrift's compact protocol, as far as metadata of Parquet files uses it, in memory that its bytes bound.

Source: Apache Thrift, doc/specs/thrift-compact-protocol.md. Readers in C++ skip a field of another type than they
expect and take the last of two; here fields rise, and everything that files of sordino never have is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# By field: True, False, int, bytes, a list, or again a struct.
Struct = dict[int, Any]

# Types of Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 4, 5, 6, 8, 9, 12
# Bits of its integers.
_BITS = {_I16: 16, _I32: 32, _I64: 64}
# No metadata of Parquet is as deep.
_MOST_DEPTH = 8


@dataclass
class ThriftReader:
    """Structs of `content` from `at` on, before `end`; raises ValueError for what is none, or of another form."""

    content: bytes
    at: int
    end: int

    def struct(self, depth: int = 0) -> Struct:
        """The struct at `at`, which is behind it afterwards; raises ValueError where structs are nested too deep."""
        if depth > _MOST_DEPTH:
            raise ValueError("its metadata is nested too deep")
        fields: Struct = {}
        last = 0
        while kind := self._byte():
            delta, kind = divmod(kind, 16)
            if not delta:
                raise ValueError("its metadata has fields in another order than files of sordino")
            last += delta
            fields[last] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _BITS:
            return self._integer(_BITS[kind])
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _LIST:
            return self._list(depth + 1)
        if kind == _BINARY:
            return self._bytes(self._varint(32))
        if kind == _BYTE:
            return self._byte()
        raise ValueError(f"its metadata has a field of type {kind}, which files of sordino lack")

    def _list(self, depth: int) -> list[Any]:
        size, kind = divmod(self._byte(), 16)
        if size == 15:
            size = self._varint(32)
        # An element has a byte at least.
        if size > self.end - self.at:
            raise ValueError("its metadata is cut")
        return [self._value(kind, depth) for _ in range(size)]

    def _integer(self, bits: int) -> int:
        """In zigzag: 0, -1, 1, -2, …"""
        value = self._varint(bits)
        return (value >> 1) ^ -(value & 1)

    def _varint(self, bits: int) -> int:
        value = 0
        for place in range(0, bits, 7):
            byte = self._byte()
            value |= (byte & 127) << place
            if byte < 128 and value < 1 << bits:
                return value
        raise ValueError(f"its metadata has a number of more than {bits} bits")

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, size: int) -> bytes:
        if size > self.end - self.at:
            raise ValueError("its metadata is cut")
        self.at += size
        return self.content[self.at - size : self.at]
