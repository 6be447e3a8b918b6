"""Stored estimates are read by their kind; what is not one is refused with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.kinds.registry import UnknownKind, kind_of_answers
from sordino_shared.errors import InvalidValue

_PARTS = ("kind", "terms", "table", "extras")
__all__ = ["UnreadableEstimate", "estimate_of", "read_estimate"]


def read_estimate(content: bytes | str) -> EstimateDocument:
    """The estimate in stored bytes; raises UnreadableEstimate."""
    return estimate_of(plain_of(content))


def estimate_of(document: object) -> EstimateDocument:
    """The estimate in JSON that was read; raises UnreadableEstimate."""
    plain = checked_parts(document)
    try:
        kind = kind_of_answers(plain["kind"])
    except UnknownKind as error:
        raise UnreadableEstimate(str(error)) from error
    estimate = document_of(plain, kind.extras)
    for name in (*kind.common_terms, *kind.terms):
        if name not in estimate.terms:
            raise UnreadableEstimate(f"{kind.name}.terms.{name}: Field required")
    return estimate


class UnreadableEstimate(InvalidValue):
    """A document is no estimate that this version knows: of another kind, or without a field of its kind."""

    code = "unreadable-estimate"
    advice = "read it with the version that wrote it, or ask the server again"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the estimate cannot be read ({reason})", reason)
        self.reason = reason


def read_document(content: bytes | str, extras: type[Extras]) -> EstimateDocument:
    """The document in JSON, with extras of this model; raises UnreadableEstimate."""
    return document_of(plain_of(content), extras)


def plain_of(content: bytes | str) -> Mapping[str, Any]:
    """A document that was read from JSON, as far as its parts are there; raises UnreadableEstimate."""
    try:
        # One object for all cells of the same text: 65,536 times `histogram` would take four megabytes.
        return checked_parts(from_json(content, cache_strings="all"))
    except ValueError as error:
        raise UnreadableEstimate(f"it is not JSON: {error}") from error


def checked_parts(plain: object) -> Mapping[str, Any]:
    """The document, if it is an object with every part; raises UnreadableEstimate."""
    if not isinstance(plain, Mapping):
        raise UnreadableEstimate("it is no object")
    for part in _PARTS:
        if part not in plain:
            raise UnreadableEstimate(f"it has no field {part!r}")
    return plain


def document_of(plain: Mapping[str, Any], extras: type[Extras]) -> EstimateDocument:
    """A document with all parts, with extras of this model; raises UnreadableEstimate."""
    kind, terms, columns = plain["kind"], _cells(plain["terms"], "terms"), _cells(plain["table"], "table")
    for name, cells in columns.items():
        if not isinstance(cells, Sequence) or isinstance(cells, str):
            raise UnreadableEstimate(f"table.{name}: is no list")
    try:
        of_kind = extras.model_validate(plain["extras"])
        return EstimateDocument(kind=kind, terms=terms, columns=columns, extras=of_kind)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, (kind, "extras", *first["loc"])))
        raise UnreadableEstimate(f"{place}: {first['msg']}") from error
    except InvalidValue as error:
        raise UnreadableEstimate(str(error)) from error


def _cells(given: Any, part: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise UnreadableEstimate(f"{part} is no object")
    return given
