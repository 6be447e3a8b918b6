"""A stored estimate of any kind, read by its discriminator `kind`. Another kind is another member here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from sordino_server.errors import ServerError
from sordino_server.estimates.concept_schemas import ConceptDocument
from sordino_server.estimates.schemas import EstimateDocument, PairwiseDocument
from sordino_shared.protocol import Problem

AnyEstimate = Annotated[EstimateDocument | PairwiseDocument | ConceptDocument, Field(discriminator="kind")]
# An estimate of 65,536 queries takes 300 MiB as objects, and 27 MiB as text.
_PIECE = 4096
_QUERIES = "queries"
_JSON = json.JSONDecoder()
_READER: TypeAdapter[EstimateDocument | PairwiseDocument | ConceptDocument] = TypeAdapter(AnyEstimate)


class UnreadableEstimate(ServerError):
    """A stored estimate that this version does not know: of another kind, or without a field of its kind."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            Problem.INTERNAL_ERROR,
            f"the stored estimate cannot be read ({reason}): run `sordino db upgrade`, or the version that stored it",
        )


def read_estimate(content: bytes) -> EstimateDocument | PairwiseDocument | ConceptDocument:
    """The estimate in stored bytes; raises UnreadableEstimate."""
    return _checked(_READER.validate_json, content)


def _checked(
    read: Callable[[Any], EstimateDocument | PairwiseDocument | ConceptDocument], given: object
) -> EstimateDocument | PairwiseDocument | ConceptDocument:
    try:
        return read(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UnreadableEstimate(f"{place}: {first['msg']}" if place else first["msg"]) from error


def pieces_of(content: bytes) -> Iterator[EstimateDocument | PairwiseDocument | ConceptDocument]:
    """The estimate in pieces of some thousand queries, each a document with the same terms; raises UnreadableEstimate.

    An estimate of another kind is one piece.
    """
    text = content.decode()
    del content
    fields, start = _fields(text)
    if start is None:
        yield _checked(_READER.validate_json, text)
        return
    queries = _elements(text, start)
    while (piece := list(islice(queries, _PIECE))) or start is not None:
        # The first piece may be empty, so that there is one.
        start = None
        yield _checked(_READER.validate_python, {**fields, _QUERIES: piece})
        if len(piece) < _PIECE:
            return


def _fields(text: str) -> tuple[dict[str, Any], int | None]:
    """The members of a canonical JSON object but its queries, and where the array of these begins."""
    fields: dict[str, Any] = {}
    start, place = None, 1
    while place < len(text) - 1:
        name, place = _JSON.raw_decode(text, place)
        if name == _QUERIES:
            start = place + 1
            place = _end(text, start)
        else:
            fields[name], place = _JSON.raw_decode(text, place + 1)
        place += 1
    return fields, start


def _elements(text: str, start: int) -> Iterator[Any]:
    """The elements of the canonical array at `start`, one at a time."""
    place = start + 1
    while text[place] != "]":
        element, place = _JSON.raw_decode(text, place + (text[place] == ","))
        yield element


def _end(text: str, start: int) -> int:
    """The place behind the array at `start`."""
    place = start + 1
    while text[place] != "]":
        _, place = _JSON.raw_decode(text, place + (text[place] == ","))
    return place + 1
