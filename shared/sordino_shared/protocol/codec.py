"""Canonical CBOR (RFC 8949 §4.2.1), strictly: what does not re-encode to the same bytes is refused.

The value model is small: maps with text keys, arrays, text, bytes, integers of 64 bits, float64, booleans and null.
Libraries accept indefinite lengths, duplicate keys, long forms, tags and trailing bytes; this codec accepts none.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import cbor2

from sordino_shared.errors import MalformedDocument, OversizedDocument

MAX_DEPTH = 16
# Tags that the library would act upon while decoding (a bigfloat alone can fill the memory); other tags decode to an
# object that the value model refuses.
_ACTIVE_TAGS = (0, 1, 2, 3, 4, 5, 25, 28, 29, 30, 35, 36, 37, 52, 54, 100, 256, 258, 260, 261, 1004, 43000, 55799)


def _refuse_tag(*_: object) -> NoReturn:
    raise MalformedDocument("tags are not part of the protocol")


_TAG_DECODERS = dict.fromkeys(_ACTIVE_TAGS, _refuse_tag)


def encode_value(value: Any) -> bytes:
    """The canonical bytes of a plain value."""
    _check_value(value, "")
    return cbor2.dumps(value, canonical=True)


def decode_value(content: bytes, limit: int) -> Any:
    """The plain value of canonical bytes of at most `limit`; raises `OversizedDocument` or `MalformedDocument`."""
    if len(content) > limit:
        raise OversizedDocument(len(content), limit)
    try:
        value = cbor2.loads(
            content,
            max_depth=MAX_DEPTH,
            semantic_decoders=_TAG_DECODERS,
            allow_indefinite=False,
            allow_duplicate_keys=False,
        )
    except (cbor2.CBORDecodeError, ValueError, RecursionError, MemoryError) as error:
        raise MalformedDocument(f"not CBOR as the protocol wants it: {error}") from error
    _check_value(value, "")
    if cbor2.dumps(value, canonical=True) != content:
        raise MalformedDocument("not in canonical form: re-encoding gives other bytes")
    return value


def _check_value(value: Any, path: str) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if type(key) is not str:
                raise MalformedDocument("keys must be text", path)
            _check_value(item, f"{path}/{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_value(item, f"{path}/{index}")
    elif type(value) is int:
        if not -(2**63) <= value < 2**64:
            raise MalformedDocument("integers must fit 64 bits", path)
    elif type(value) is float:
        if not math.isfinite(value):
            raise MalformedDocument("numbers must be finite", path)
    elif value is not None and type(value) not in (bool, str, bytes):
        raise MalformedDocument(f"values of type {type(value).__name__} are not part of the protocol", path)
