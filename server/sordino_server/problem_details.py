"""Every error becomes one problem document (RFC 9457) here, and nowhere else. Internal text never leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from sordino_server.errors import ServerError
from sordino_server.kit.logs import Sparingly, logger
from sordino_server.validation_problem import invalid_request
from sordino_shared.errors import InvalidValue, OversizedDocument, ProtocolError
from sordino_shared.protocol import PROBLEM_MEDIA_TYPE, IllegalTransition, Problem

log = logger(__name__)
# A traceback takes as long as forty reports.
_failed = Sparingly()
# Devices spread their retries over the window in `task`; this is for everybody else.
_RETRY_AFTER_S = {Problem.OVERLOADED: 1, Problem.UNAVAILABLE: 5, Problem.STORAGE_FULL: 60}
# With the first three the rest of the body is on its way, and the connection would go on swallowing it. After a bug it
# is ended, and must not be by surprise, in the middle of the next request.
_LAST_ANSWERS = (Problem.TOO_LARGE, Problem.REQUEST_TIMEOUT, Problem.OVERLOADED, Problem.INTERNAL_ERROR)
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_OF_STATUS = {
    400: Problem.MALFORMED_BODY,
    401: Problem.UNAUTHORIZED,
    403: Problem.FORBIDDEN,
    404: Problem.NOT_FOUND,
    405: Problem.METHOD_NOT_ALLOWED,
    408: Problem.REQUEST_TIMEOUT,
    413: Problem.TOO_LARGE,
    415: Problem.UNSUPPORTED_MEDIA_TYPE,
    503: Problem.UNAVAILABLE,
}


# Where a share link leads, as logs and problem documents have it.
_SHARED = "/shared/{token}"


class ProblemDocument(BaseModel):
    """A problem document; problem types may add members of their own."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="Relative URI that names the kind of problem.", examples=["/problems/not-found"])
    title: str = Field(description="Name of this kind of problem.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What happened in this request, and what to do.")
    instance: str = Field(description="Path of the request, without the secret of a share link.")


def problem_response(problem: Problem, detail: str, instance: str, extra: Mapping[str, Any] | None = None) -> Response:
    """The answer that states `problem`; a `retry_after` among the extra members is also sent as a header."""
    extra = dict(extra or {})
    document = {
        "type": f"/problems/{problem.slug}",
        "title": problem.title,
        "status": problem.status,
        "detail": detail,
        "instance": _without_secret(instance),
    }
    headers = {"Cache-Control": "no-store"}
    retry_after = extra.get("retry_after", _RETRY_AFTER_S.get(problem))
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    if problem is Problem.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if problem in _LAST_ANSWERS:
        headers["Connection"] = "close"
    # Escaped throughout: what was asked for may hold lone surrogates, which have no bytes in UTF-8.
    content = json.dumps(extra | document, allow_nan=False).encode("ascii")
    return Response(content, problem.status, headers, PROBLEM_MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Answer every error of `app` with a problem document."""
    # Async handlers all: others would wait for a thread, and a database that hangs has them all.
    app.add_exception_handler(ServerError, _of_server_error)
    app.add_exception_handler(ProtocolError, _of_protocol_error)
    app.add_exception_handler(IllegalTransition, _of_illegal_transition)
    app.add_exception_handler(InvalidValue, _of_invalid_value)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_http_exception)
    app.add_exception_handler(Exception, _of_bug)


def _answer(request: Request, problem: Problem, detail: str, **extra: Any) -> Response:
    return problem_response(problem, detail, request.url.path, extra)


def answer(error: ServerError, path: str) -> Response:
    """The answer where a request for `path` ended with `error`; the server's own are logged, one of a kind a second."""
    if error.problem.status >= 500 and (times := _failed.times(error.problem)):
        # What was raised for no other error was foreseen, and where it was says nothing.
        trace = error if error.__cause__ else None
        said = {"path": _without_secret(path), "problem": error.problem.slug, "detail": error.detail, "times": times}
        log.error("request failed", **said, exc_info=trace)
    return problem_response(error.problem, error.detail, path, error.extra)


def answer_to_bug(error: Exception, path: str) -> Response:
    """The answer to a request for `path` that ended with an error nobody foresaw, which is logged."""
    log.error("bug", path=_without_secret(path), exc_info=error)
    detail = "the server made a mistake, which is in its log; nothing was changed"
    return problem_response(Problem.INTERNAL_ERROR, detail, path)


async def _of_server_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ServerError)
    return answer(error, request.url.path)


async def _of_protocol_error(request: Request, error: Exception) -> Response:
    problem = Problem.TOO_LARGE if isinstance(error, OversizedDocument) else Problem.MALFORMED_BODY
    return _answer(request, problem, str(error))


async def _of_illegal_transition(request: Request, error: Exception) -> Response:
    assert isinstance(error, IllegalTransition)
    return _answer(request, Problem.ILLEGAL_TRANSITION, str(error), state=str(error.current), wanted=str(error.wanted))


async def _of_invalid_value(request: Request, error: Exception) -> Response:
    return _answer(request, Problem.INVALID_REQUEST, str(error))


async def _of_validation(request: Request, error: Exception) -> Response:
    """Where and why the request does not fit, without what it contained."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if found[0]["loc"] == ("body",) and "json" not in request.headers.get("content-type", ""):
        return _answer(request, Problem.UNSUPPORTED_MEDIA_TYPE, "send a JSON body with Content-Type: application/json")
    return answer(invalid_request(found), request.url.path)


async def _of_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    problem = _OF_STATUS.get(error.status_code)
    if problem is None:
        log.error("unexpected status", path=_without_secret(request.url.path), status=error.status_code)
        problem = Problem.INTERNAL_ERROR
    if problem is Problem.METHOD_NOT_ALLOWED:
        response = _answer(request, problem, f"{request.method} is not known here")
        response.headers["Allow"] = ", ".join(_known_methods(request))
        return response
    details = {Problem.NOT_FOUND: "the path names nothing on this server"}
    return _answer(request, problem, details.get(problem, error.detail))


def _without_secret(path: str) -> str:
    """The path without the secret of a share link, which opens a result for anyone who reads a log or a document."""
    return _SHARED if path.startswith("/shared/") else path


def _known_methods(request: Request) -> list[str]:
    """Methods of the path that was asked; the router itself names those of its first match only."""
    scope = {"type": "http", "path": request.scope["path"], "root_path": request.scope["root_path"], "headers": []}
    matches = {
        method: [route.matches(scope | {"method": method})[0] for route in request.app.routes] for method in _METHODS
    }
    return [method for method, found in matches.items() if Match.FULL in found]


async def _of_bug(request: Request, error: Exception) -> Response:
    return answer_to_bug(error, request.url.path)
