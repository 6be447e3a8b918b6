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
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

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
_DOUBLE = 27
_FLOAT_FORMATS = {25: ">e", 26: ">f", _DOUBLE: ">d"}
# The least argument that deserves a head of 1, 2, 4 or 8 further bytes.
LEAST_ARGUMENT = {1: 24, 2: 1 << 8, 4: 1 << 16, 8: 1 << 32}


def encode_value(value: Any) -> bytes:
    """The canonical bytes of a plain value; raises `MalformedDocument` for what the value model does not have."""
    pieces: list[bytes] = []
    try:
        _write(value, 0, pieces.append)
    except _Unwritable as error:
        raise MalformedDocument(error.reason, "".join(f"/{name}" for name in reversed(error.names))) from None
    return b"".join(pieces)


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


class _Unwritable(Exception):
    """What the value model does not have; `names` leads to it, from the inside out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.names: list[str | int] = []


_Put = Callable[[bytes], object]
_SCALARS = {None: b"\xf6", False: b"\xf4", True: b"\xf5"}


def _write(value: Any, depth: int, put: _Put) -> None:
    """Put the canonical bytes of a value, piece by piece; raises `_Unwritable`."""
    kind = type(value)
    if kind is int:
        put(_integer(value))
    elif kind is str:
        put(_text(value))
    elif kind is bytes:
        put(_head(_BYTES, len(value)))
        put(value)
    elif kind is float:
        put(_float(value))
    elif kind is bool or value is None:
        put(_SCALARS[value])
    elif isinstance(value, (dict, list)):
        _write_container(value, depth, put)
    else:
        raise _Unwritable(f"values of type {kind.__name__} are not part of the protocol")


def _write_container(value: dict[Any, Any] | list[Any], depth: int, put: _Put) -> None:
    if depth >= MAX_DEPTH:
        raise _Unwritable(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, list):
        put(_head(_ARRAY, len(value)))
        pairs: Iterable[tuple[bytes, str | int, Any]] = ((b"", place, item) for place, item in enumerate(value))
    else:
        put(_head(_MAP, len(value)))
        pairs = sorted(((_key(name), name, item) for name, item in value.items()), key=itemgetter(0))
    for key, name, item in pairs:
        put(key)
        try:
            _write(item, depth + 1, put)
        except _Unwritable as error:
            error.names.append(name)
            raise


def _key(name: Any) -> bytes:
    if type(name) is not str:
        raise _Unwritable("keys must be text")
    return _text(name)


def _integer(value: int) -> bytes:
    if not -(2**63) <= value < 2**64:
        raise _Unwritable("integers must fit 64 bits")
    return _head(_UNSIGNED, value) if value >= 0 else _head(_NEGATIVE, -1 - value)


def _text(text: str) -> bytes:
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError:
        raise _Unwritable(f"text must be encodable as UTF-8, got {text!r}") from None
    return _head(_TEXT, len(encoded)) + encoded


def _float(value: float) -> bytes:
    """The shortest of the three formats that holds the value exactly."""
    if not _allowed_float(value):
        raise _Unwritable("numbers must be finite, and zero has no sign")
    info = next(info for info in _FLOAT_FORMATS if info == _DOUBLE or _fits(value, info))
    return bytes((_SIMPLE << 5 | info,)) + struct.pack(_FLOAT_FORMATS[info], value)


def _head(kind: int, argument: int) -> bytes:
    """The first byte of an item and its argument in the shortest form."""
    if argument < 24:
        return bytes((kind << 5 | argument,))
    width = next(width for width in (1, 2, 4, 8) if argument < 1 << (8 * width))
    return bytes((kind << 5 | 23 + width.bit_length(),)) + argument.to_bytes(width, "big")
