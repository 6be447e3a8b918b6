"""Stored estimates are read by their kind; what is not one is refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.kinds.registry import kind_named
from sordino_shared.errors import InvalidValue

# Of every estimate.
TERMS = ("campaign_id", "users", "epsilon", "level", "bias_bound", "target", "validity", "mechanism")
_PARTS = ("kind", "terms", "table", "extras")


class UnreadableEstimate(InvalidValue):
    """A document is no estimate that this version knows: of another kind, or without a field of its kind."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the estimate cannot be read ({reason})", reason)
        self.reason = reason


def read_estimate(content: bytes | str) -> EstimateDocument:
    """The estimate in stored bytes; raises UnreadableEstimate."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableEstimate(f"it is not JSON: {error}") from error
    return estimate_of(document)


def estimate_of(document: object) -> EstimateDocument:
    """The estimate in JSON that was read; raises UnreadableEstimate."""
    if not isinstance(document, Mapping):
        raise UnreadableEstimate("it is no object")
    for part in _PARTS:
        if part not in document:
            raise UnreadableEstimate(f"it has no field {part!r}")
    try:
        kind = kind_named(document["kind"])
        extras = kind.extras.model_validate(document["extras"])
        terms, columns = _cells(document["terms"], "terms"), _cells(document["table"], "table")
        for name, cells in columns.items():
            if not isinstance(cells, Sequence) or isinstance(cells, str):
                raise UnreadableEstimate(f"table.{name}: is no list")
        estimate = EstimateDocument(kind=kind.name, terms=terms, columns=columns, extras=extras)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, (document["kind"], "extras", *first["loc"])))
        raise UnreadableEstimate(f"{place}: {first['msg']}") from error
    except UnreadableEstimate:
        raise
    except InvalidValue as error:
        raise UnreadableEstimate(str(error)) from error
    for name in (*TERMS, *kind.terms):
        if name not in estimate.terms:
            raise UnreadableEstimate(f"{kind.name}.terms.{name}: Field required")
    return estimate


def _cells(given: Any, part: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise UnreadableEstimate(f"{part} is no object")
    return given
