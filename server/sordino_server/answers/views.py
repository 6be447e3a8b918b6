"""A document of answers of any kind as a client asks for it: its bytes, or its table as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response

from sordino_analysis.answers.csv_text import CSV_TYPE, as_csv
from sordino_server.answers.stored import read_estimate

Form = Annotated[Literal["json", "csv"] | None, Query(alias="format", description="Overrides the Accept header.")]

CSV_RESPONSES: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {}}}}
# Of what may change, or is about to.
NOT_STORED = {"Cache-Control": "no-store", "Vary": "Accept"}
# Of a document that never changes; only who may read it does.
IMMUTABLE = {"Cache-Control": "private, max-age=31536000, immutable", "Vary": "Accept, Authorization"}


def wants_csv(request: Request, form: str | None) -> bool:
    """Whether a table is asked for, by `format` or by the Accept header."""
    return form == "csv" or (form is None and "text/csv" in request.headers.get("accept", "").lower())


def as_asked(request: Request, content: bytes, form: str | None, headers: Mapping[str, str]) -> Response:
    """The document, or its table with `format=csv`."""
    if wants_csv(request, form):
        return Response(table_text(content), headers=headers, media_type=CSV_TYPE)
    return Response(content, headers=headers, media_type="application/json")


def table_text(content: bytes) -> str:
    """The table of a document of answers as CSV."""
    return as_csv(read_estimate(content).table)
