"""A page in its three forms: HTML, `.json` and `.csv`, from one function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from sordino_analysis.answers.csv_text import CSV_TYPE, written
from sordino_server.console.console_route import Visitor
from sordino_server.console.rendering import render
from sordino_server.estimates.schemas import canonical_bytes

FORMS = (".json", ".csv", "")
_HEADERS = {"Cache-Control": "no-store"}

Endpoint = TypeVar("Endpoint", bound=Callable[..., Response | Awaitable[Response]])


@dataclass(frozen=True, kw_only=True)
class ConsolePage:
    """What a page shows: `json` makes the document of the API, `csv` the same as a table with a header line."""

    template: str
    title: str
    json: Callable[[], bytes]
    csv: Callable[[], str]
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


def page(router: APIRouter, path: str) -> Callable[[Endpoint], Endpoint]:
    """Register an endpoint under `path`, `path.json` and `path.csv`."""

    def register(endpoint: Endpoint) -> Endpoint:
        for form in FORMS:
            router.add_api_route(path + form, endpoint, methods=["GET"])
        return endpoint

    return register


def show(request: Request, visitor: Visitor, page: ConsolePage) -> Response:
    """The page in the form that the path ends with."""
    if request.url.path.endswith(".json"):
        return Response(page.json(), headers=_HEADERS, media_type="application/json")
    if request.url.path.endswith(".csv"):
        return Response(page.csv(), headers=_HEADERS, media_type=CSV_TYPE)
    asked = f"?{request.url.query}" if request.url.query else ""
    data = {form: f"{request.url.path}{form}{asked}" for form in (".json", ".csv")}
    return render(page.template, page.title, visitor=visitor, status=page.status, data=data, **page.values)


def next_page(request: Request, token: str | None) -> str | None:
    """The address of the next page of a list, with the same filter."""
    if token is None:
        return None
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != "page_token"]
    return "?" + urlencode([*kept, ("page_token", token)])


def table_of(documents: Sequence[BaseModel], columns: Sequence[str]) -> str:
    """The named fields of each document as CSV."""
    return written([tuple(columns), *(tuple(getattr(each, name) for name in columns) for each in documents)])


def json_of(document: BaseModel) -> bytes:
    """A document as JSON."""
    return canonical_bytes(document)
