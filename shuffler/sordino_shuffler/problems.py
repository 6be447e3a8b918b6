"""Refusals of requests, and the problem document (RFC 9457) that says each of them."""

from __future__ import annotations

import json
import sqlite3

from sordino_shared.protocol import Problem
from sordino_shuffler.errors import LeastFree, RoundOver, TooMuchWaits

# What a client is asked to wait, where the refusal itself names no time.
_RETRY_AFTER_S = {Problem.OVERLOADED: 1, Problem.UNAVAILABLE: 5, Problem.STORAGE_FULL: 60}
# The rest of the body may be on its way: the connection ends.
_LAST_ANSWERS = (Problem.TOO_LARGE, Problem.REQUEST_TIMEOUT, Problem.OVERLOADED, Problem.INTERNAL_ERROR)

Headers = list[tuple[bytes, bytes]]


class RequestRefused(Exception):
    """A request that is answered with a problem document; `retry_after` is in seconds."""

    def __init__(self, problem: Problem, detail: str, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.problem = problem
        self.detail = detail
        self.retry_after = retry_after if retry_after is not None else _RETRY_AFTER_S.get(problem)

    def headers(self) -> Headers:
        """What the answer has besides its type and length."""
        headers = [(b"cache-control", b"no-store")]
        if self.retry_after is not None:
            headers.append((b"retry-after", b"%d" % self.retry_after))
        if self.problem in _LAST_ANSWERS:
            headers.append((b"connection", b"close"))
        return headers

    def content(self, path: str) -> bytes:
        """The document, for a request of this path."""
        document = {
            "type": f"/problems/{self.problem.slug}",
            "title": self.problem.title,
            "status": self.problem.status,
            "detail": self.detail,
            "instance": path,
        }
        # Escaped throughout: a path may hold lone surrogates.
        return json.dumps(document).encode("ascii")


def refusal_of(error: Exception) -> RequestRefused | None:
    """How a failed write is answered; None for a mistake of this program."""
    match error:
        case RoundOver():
            return RequestRefused(Problem.ROUND_NOT_OPEN, str(error))
        case TooMuchWaits():
            return RequestRefused(Problem.OVERLOADED, str(error))
        case LeastFree():
            return RequestRefused(Problem.STORAGE_FULL, "the shuffler's storage is full; nothing was counted")
        case sqlite3.OperationalError() if "full" in str(error):
            return RequestRefused(Problem.STORAGE_FULL, "the shuffler's storage is full; nothing was counted")
        case sqlite3.Error() | OSError():
            return RequestRefused(Problem.UNAVAILABLE, "the shuffler could not write; try again later")
        case _:
            return None
