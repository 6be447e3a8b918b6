"""Forms that count once: each has a number of its own, and sending it again gives the answer that it got."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Request
from starlette.responses import RedirectResponse

from sordino_server.console.console_route import Analyst, Form
from sordino_server.context import Injected
from sordino_server.keys.idempotency import IdempotentPost, PostAnswer
from sordino_shared.errors import InvalidValue

_LONGEST = 64


async def _of_form(request: Request, visitor: Analyst, context: Injected, form: Form) -> IdempotentPost:
    number = form.get("once", "")
    if not 1 <= len(number) <= _LONGEST:
        raise InvalidValue("the form has no number of its own: go back, reload the page and send it again", number)
    return IdempotentPost(
        context=context,
        key=visitor.key,
        token=f"console {number}",
        method_path=f"POST {request.url.path}",
        body_sha256=_digest(form),
    )


def _digest(form: Mapping[str, str]) -> str:
    """SHA-256 of what was filled in; the token is another one after the next sign-in."""
    filled = sorted((name, value) for name, value in form.items() if name != "token")
    return hashlib.sha256(urlencode(filled).encode()).hexdigest()


def redirect(answer: PostAnswer) -> RedirectResponse:
    """To the page that the answer names."""
    assert answer.location is not None
    return RedirectResponse(answer.location, 303)


FormOnce = Annotated[IdempotentPost, Depends(_of_form)]
