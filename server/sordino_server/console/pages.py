"""Pages are declared: a path, a template and columns, and a function that returns what is shown.

A page has three forms, HTML, `.json` and `.csv`, from the one function.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, iscoroutinefunction
from typing import Any, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from sordino_analysis.answers.csv_text import CSV_TYPE, written
from sordino_server.console.rendering import render
from sordino_server.kit.declared import declare, parameters_of

FORMS = (".json", ".csv", "")
_HEADERS = {"Cache-Control": "no-store"}
_REQUEST = Parameter("request", Parameter.KEYWORD_ONLY, annotation=Request)


@dataclass(frozen=True, kw_only=True)
class ConsolePage:
    """What a page shows: `document` of the API, as JSON or as bytes of it, and `rows` of its table.

    Its template gets both, `next`, the address of the page of a list that follows, and the `values`. Where `rows` is a
    function, it makes the CSV.
    """

    title: str
    document: BaseModel | bytes
    rows: Sequence[BaseModel] | Callable[[], str]
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


Endpoint = TypeVar("Endpoint", bound=Callable[..., ConsolePage | Awaitable[ConsolePage]])


def page(
    router: APIRouter, path: str, template: str, columns: Sequence[str] = ()
) -> Callable[[Endpoint], Callable[..., Response | Awaitable[Response]]]:
    """Register an endpoint, which returns a `ConsolePage`, under `path`, `path.json` and `path.csv`.

    The CSV has these columns of the rows.
    """

    def register(endpoint: Endpoint) -> Callable[..., Response | Awaitable[Response]]:
        own = parameters_of(endpoint)
        takes_request = any(each.name == "request" for each in own)

        def arguments(request: Request, given: dict[str, Any]) -> dict[str, Any]:
            return given | {"request": request} if takes_request else given

        def answer(request: Request, **given: Any) -> Response:
            shown: Any = endpoint(**arguments(request, given))
            return _show(request, template, columns, shown)

        async def answer_later(request: Request, **given: Any) -> Response:
            shown: Any = endpoint(**arguments(request, given))
            return _show(request, template, columns, await shown)

        made = answer_later if iscoroutinefunction(endpoint) else answer
        declare(made, endpoint, own if takes_request else [_REQUEST, *own])
        for form in FORMS:
            router.add_api_route(path + form, made, methods=["GET"])
        return made

    return register


def _show(request: Request, template: str, columns: Sequence[str], page: ConsolePage) -> Response:
    """The page in the form that the path ends with."""
    document, rows = page.document, page.rows
    if request.url.path.endswith(".json"):
        content = document if isinstance(document, bytes) else _canonical(document)
        return Response(content, headers=_HEADERS, media_type="application/json")
    if request.url.path.endswith(".csv"):
        text = rows() if callable(rows) else table_of(rows, columns)
        return Response(text, headers=_HEADERS, media_type=CSV_TYPE)
    asked = f"?{request.url.query}" if request.url.query else ""
    values = {
        "data": {form: f"{request.url.path}{form}{asked}" for form in (".json", ".csv")},
        "here": request.url.path,
        "document": document,
        "rows": rows,
        "next": next_page(request, getattr(document, "next_page_token", None)),
    }
    visitor = request.state.visitor
    return render(template, page.title, visitor=visitor, status=page.status, **(values | dict(page.values)))


def next_page(request: Request, token: str | None) -> str | None:
    """The address of the next page of a list, with the same filter."""
    if token is None:
        return None
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != "page_token"]
    return "?" + urlencode([*kept, ("page_token", token)])


def table_of(documents: Sequence[BaseModel], columns: Sequence[str]) -> str:
    """The named fields of each document as CSV."""
    return written([tuple(columns), *(tuple(getattr(each, name) for name in columns) for each in documents)])


def _canonical(document: BaseModel) -> bytes:
    """JSON with sorted keys, no blanks, and the shortest digits that read back to the same number."""
    plain = document.model_dump(mode="json")
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
