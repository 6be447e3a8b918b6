"""A document as JSON for people: digests in hexadecimal, arrays as lists while they are small."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.arrays import Array
from sordino_shared.protocol import Document

# A list of more numbers is not read by anybody; the bytes are one request away.
SHOWN_ENTRIES = 4096


def readable(value: Any) -> Any:
    """Maps, lists and scalars that JSON can hold."""
    if isinstance(value, Array):
        return _array(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (tuple, list)):
        return [readable(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        shown = {field.name: readable(getattr(value, field.name)) for field in fields(value)}
        kind = getattr(value, "kind", None)
        return shown if kind is None else {"kind": kind} | shown
    return value


def readable_document(document: Document) -> dict[str, Any]:
    """The document's fields under its type and digest."""
    fields_shown: dict[str, Any] = readable(document)
    return {"document": document.document, "digest": str(document.digest)} | fields_shown


def _array(array: Array) -> dict[str, Any]:
    shown: dict[str, Any] = {"element": array.element, "shape": list(array.shape)}
    values = ndarray(array)
    if values.size > SHOWN_ENTRIES:
        return shown | {"omitted_bytes": len(array.data)}
    return shown | {"values": values.tolist()}
