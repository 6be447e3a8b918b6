"""JSON from outside, read once: no object has two members of one name, of which readers take one or the other."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from sordino_server.errors import ServerError
from sordino_shared.protocol import Problem


def read_json(content: bytes) -> Any:
    """The value; raises `malformed-body`, which says what is wrong and where."""
    try:
        return json.loads(content, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        detail = f"the body is not JSON: {error.msg} (at character {error.pos})"
        raise ServerError(Problem.MALFORMED_BODY, detail) from error
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        reasons = {UnicodeDecodeError: "it is not UTF-8", RecursionError: "it is nested too deep"}
        reason = reasons.get(type(error), "a number in it has too many digits")
        raise ServerError(Problem.MALFORMED_BODY, f"the body is not JSON that can be read: {reason}") from error


def _distinct(members: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(members)
    if len(read) < len(members):
        ((name, _),) = Counter(name for name, _ in members).most_common(1)
        raise ServerError(Problem.MALFORMED_BODY, f"the body has two members {name[:100]!r} in one object; write one")
    return read
