"""What does not fit a request's form, as one problem: where and why, without what the request contained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sordino_analysis.validation_messages import reason
from sordino_server.errors import ServerError
from sordino_server.identifiers import IN_WORDS
from sordino_shared.protocol import Problem

SHOWN_ERRORS = 20


def invalid_request(errors: Sequence[Mapping[str, Any]]) -> ServerError:
    """`invalid-request` of what `ValidationError.errors()` found, the first of it in the detail."""
    listed = [{"pointer": _pointer(item["loc"]), "detail": _reason(item)} for item in errors[:SHOWN_ERRORS]]
    more = f" (and {len(errors) - 1} more, see `errors`)" if len(errors) > 1 else ""
    detail = f"{listed[0]['pointer']}: {listed[0]['detail']}{more}"
    return ServerError(Problem.INVALID_REQUEST, detail, errors=listed)


def _reason(item: Mapping[str, Any]) -> str:
    words = IN_WORDS.get(item.get("ctx", {}).get("pattern"))
    return f"give {words}" if words else reason(item)


def _pointer(location: Iterable[str | int]) -> str:
    return "/" + "/".join(str(part)[:100].replace("~", "~0").replace("/", "~1") for part in location)
