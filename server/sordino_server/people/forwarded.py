"""Who a trusted proxy says is asking: `X-Forwarded-User` and `X-Forwarded-Groups`, with the secret of the proxy."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from sordino_server.config import Settings
from sordino_server.errors import ServerError
from sordino_server.people.person import Person, is_subject
from sordino_shared.http.senders import TrustedProxies
from sordino_shared.protocol import Problem

ISSUER = "proxy"
USER, GROUPS, SECRET = "X-Forwarded-User", "X-Forwarded-Groups", "X-Sordino-Proxy-Secret"


def forwarded_person(scope: Mapping[str, Any], settings: Settings) -> Person | None:
    """The person of an ASGI scope; None where no listed proxy names one.

    Raises `forbidden` for a proxy without the secret, and `malformed-request` for what a proxy never sends: a header
    twice, as of a client whose own one the proxy passed on, or a name with a comma, as of two such headers in one.
    """
    if settings.people != "header" or not TrustedProxies.parse(settings.trusted_proxies).trusts_peer(scope):
        return None
    user = _only(scope, USER)
    if user is None:
        return None
    expected = settings.people_secret
    given = (_only(scope, SECRET) or "").encode()
    if expected is None or not secrets.compare_digest(given, expected.get_secret_value().encode()):
        raise ServerError(
            Problem.FORBIDDEN, f"the proxy names a person without its secret: let it send {SECRET}, and no client"
        )
    if not is_subject(user) or "," in user:
        raise ServerError(
            Problem.MALFORMED_REQUEST,
            f"{USER} is no legible name of one person, without a comma, of 1 to 255 characters",
        )
    groups = (_only(scope, GROUPS) or "").split(",")
    return Person(issuer=ISSUER, subject=user, groups=tuple(each.strip() for each in groups if each.strip()))


def _only(scope: Mapping[str, Any], name: str) -> str | None:
    """The value of a header that is there once, or not at all."""
    wanted = name.lower().encode()
    values = [value for each, value in scope["headers"] if each == wanted]
    if len(values) > 1:
        raise ServerError(
            Problem.MALFORMED_REQUEST, f"{name} is there {len(values)} times: a proxy replaces a client's"
        )
    try:
        return values[0].decode("utf-8").strip() if values else None
    except UnicodeDecodeError as error:
        raise ServerError(Problem.MALFORMED_REQUEST, f"{name} is no UTF-8") from error
