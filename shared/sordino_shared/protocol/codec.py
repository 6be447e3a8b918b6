"""Canonical CBOR (RFC 8949 §4.2.1), strictly: a value has one encoding, and no other bytes are read.

The value model is small: maps with text keys, arrays, text, bytes, integers of 64 bits, finite floats without a
negative zero, booleans and null. General libraries also take indefinite lengths, duplicate or unordered keys, long
forms, tags, other simple values and trailing bytes. Reading is therefore done here, a head at a time, and stops at the
first byte that is not canonical; what is declared is held against what is there before anything is built. Arrays are
checked when they are read and built when they are gone over, so that what no document holds is refused unbuilt.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any

import cbor2

from sordino_shared.errors import MalformedDocument, OversizedDocument
from sordino_shared.quantities import quantity

MAX_DEPTH = 16
# A byte of input can become a Python object of a hundred: this bounds the seconds of a hostile document.
MAX_ITEMS = 1 << 20
# What is built outside of arrays, each item and every 64 bytes of it: some dozens of fields and one sentence in all
# documents. This bounds their memory.
_MOST_BUILT = 4096
_BUILT_BYTES = 64

_UNSIGNED, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _SIMPLE = range(8)
_CONSTANTS = {20: False, 21: True, 22: None}
_FLOAT_FORMATS = {25: ">e", 26: ">f", 27: ">d"}
# The least argument that deserves a head of 1, 2, 4 or 8 further bytes.
LEAST_ARGUMENT = {1: 24, 2: 1 << 8, 4: 1 << 16, 8: 1 << 32}


def encode_value(value: Any) -> bytes:
    """The canonical bytes of a plain value; raises `MalformedDocument` for what the value model does not have."""
    _check_value(value, "", 0)
    return cbor2.dumps(value, canonical=True)


def decode_value(content: bytes, limit: int, max_items: int = MAX_ITEMS) -> Any:
    """The plain value of canonical bytes of at most `limit`, made of at most `max_items` arrays, maps and scalars.

    Raises `OversizedDocument` or `MalformedDocument`.
    """
    return built(read_value(content, limit, max_items))


def built(value: Any) -> Any:
    """A value whose arrays are lists."""
    if isinstance(value, EncodedArray):
        return [built(item) for item in value]
    return {key: built(item) for key, item in value.items()} if isinstance(value, dict) else value


def read_value(content: bytes, limit: int, max_items: int = MAX_ITEMS) -> Any:
    """The same with each array as an `EncodedArray`: all is checked, and little memory is taken by what is refused."""
    if len(content) > limit:
        raise OversizedDocument(len(content), limit)
    reader = _Reader(content, 0, max_items)
    value = reader.value(0)
    if reader.position != len(content):
        raise reader.malformed("bytes follow the document", reader.position)
    return value


class EncodedArray:
    """An array that was checked and is built item by item; arrays in it are of this kind too."""

    __slots__ = ("_content", "_count", "_depth", "_start")

    def __init__(self, content: bytes, start: int, count: int, depth: int) -> None:
        self._content, self._start, self._count, self._depth = content, start, count, depth

    def __iter__(self) -> Iterator[Any]:
        position = self._start
        for _ in range(self._count):
            reader = _Reader(self._content, position, MAX_ITEMS)
            yield reader.value(self._depth)
            position = reader.position


class _Reader:
    """A cursor over `content` that builds plain values and refuses the first byte that is not canonical."""

    __slots__ = ("_built", "_in_array", "content", "items", "position")

    def __init__(self, content: bytes, position: int, max_items: int) -> None:
        self.content = content
        self.position = position
        self.items = max_items
        self._built = 0
        self._in_array = False

    def malformed(self, reason: str, at: int) -> MalformedDocument:
        return MalformedDocument(f"not canonical CBOR at byte {at}: {reason}")

    def value(self, depth: int) -> Any:
        start = self.position
        self.items -= 1
        if self.items < 0 or self._built > _MOST_BUILT:
            raise self.malformed("the document has too many items", start)
        if not self._in_array:
            self._built += 1
        kind, info = divmod(self.take(1)[0], 32)
        if kind == _SIMPLE:
            return _CONSTANTS[info] if info in _CONSTANTS else self.float(info, start)
        argument = self.argument(info, start)
        if kind == _UNSIGNED:
            return argument
        if kind == _NEGATIVE:
            return self.negative(argument, start)
        if kind == _BYTES:
            return self.bytes(argument)
        if kind == _TEXT:
            return self.text(argument, start)
        if kind == _TAG:
            raise self.malformed("tags are not part of the protocol", start)
        return self.container(kind, argument, depth, start)

    def take(self, count: int) -> bytes:
        return self.content[self.skip(count) : self.position]

    def skip(self, count: int) -> int:
        start, end = self.position, self.position + count
        if end > len(self.content):
            raise self.malformed(f"{quantity(count, 'byte')} declared, {len(self.content) - start} left", start)
        self.position = end
        return start

    def bytes(self, length: int) -> bytes:
        start = self.skip(length)
        return b"" if self._in_array else self.content[start : self.position]

    def argument(self, info: int, start: int) -> int:
        if info < 24:
            return info
        if info > 27:
            raise self.malformed("indefinite lengths and reserved heads are not part of the protocol", start)
        width = 1 << (info - 24)
        argument = int.from_bytes(self.take(width), "big")
        if argument < LEAST_ARGUMENT[width]:
            raise self.malformed(f"{argument} is not in its shortest form", start)
        return argument

    def negative(self, argument: int, start: int) -> int:
        if argument >= 1 << 63:
            raise self.malformed("negative integers must fit 64 bits", start)
        return -1 - argument

    def text(self, length: int, start: int) -> str:
        if not self._in_array:
            self._built += length // _BUILT_BYTES
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.malformed(f"text must be UTF-8: {error.reason}", start) from error

    def float(self, info: int, start: int) -> float:
        if info not in _FLOAT_FORMATS:
            raise self.malformed("undefined and other simple values are not part of the protocol", start)
        encoded = self.take(1 << (info - 24))
        value: float = struct.unpack(_FLOAT_FORMATS[info], encoded)[0]
        if not _allowed_float(value):
            raise self.malformed("numbers must be finite, and zero has no sign", start)
        if any(_fits(value, shorter) for shorter in range(25, info)):
            raise self.malformed(f"{value!r} is not in its shortest form", start)
        return value

    def container(self, kind: int, count: int, depth: int, start: int) -> Any:
        if depth >= MAX_DEPTH:
            raise self.malformed(f"nested deeper than {MAX_DEPTH}", start)
        left = len(self.content) - self.position
        if count > left:
            raise self.malformed(f"{quantity(count, 'item')} declared, {quantity(left, 'byte')} left", start)
        if kind == _ARRAY:
            return self.array(count, depth)
        return self.map(count, depth)

    def array(self, count: int, depth: int) -> EncodedArray:
        found = EncodedArray(self.content, self.position, count, depth + 1)
        outer, self._in_array = self._in_array, True
        for _ in range(count):
            self.value(depth + 1)
        self._in_array = outer
        return found

    def map(self, count: int, depth: int) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        previous = b""
        for _ in range(count):
            start = self.position
            key = self.value(depth + 1)
            if not isinstance(key, str):
                raise self.malformed("keys must be text", start)
            encoded = self.content[start : self.position]
            if encoded <= previous:
                raise self.malformed(f"key {key!r} is out of order or occurs twice", start)
            previous = encoded
            value = self.value(depth + 1)
            if not self._in_array:
                plain[key] = value
        return plain


def _allowed_float(value: float) -> bool:
    return math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0)


def _fits(value: float, info: int) -> bool:
    """Whether a shorter float format holds the value exactly."""
    try:
        packed = struct.pack(_FLOAT_FORMATS[info], value)
    except OverflowError:
        return False
    return bool(struct.unpack(_FLOAT_FORMATS[info], packed)[0] == value)


def _check_value(value: Any, path: str, depth: int) -> None:
    if isinstance(value, (dict, list)):
        _check_container(value, path, depth)
    elif type(value) is int:
        if not -(2**63) <= value < 2**64:
            raise MalformedDocument("integers must fit 64 bits", path)
    elif type(value) is float:
        if not _allowed_float(value):
            raise MalformedDocument("numbers must be finite, and zero has no sign", path)
    elif type(value) is str:
        if not value.isascii():
            _check_text(value, path)
    elif value is not None and type(value) not in (bool, bytes):
        raise MalformedDocument(f"values of type {type(value).__name__} are not part of the protocol", path)


def _check_container(value: dict[Any, Any] | list[Any], path: str, depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise MalformedDocument(f"nested deeper than {MAX_DEPTH}", path)
    if isinstance(value, dict):
        for key in value:
            if type(key) is not str:
                raise MalformedDocument("keys must be text", path)
            _check_text(key, path)
    for name, item in value.items() if isinstance(value, dict) else enumerate(value):
        _check_value(item, f"{path}/{name}", depth + 1)


def _check_text(text: str, path: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MalformedDocument(f"text must be encodable as UTF-8, got {text!r}", path) from error
