"""Cookies of the console: no script reads them, and no other host sets them where browsers come over TLS.

There their names begin with `__Host-` (RFC 6265bis, section 4.1.3.2): a browser takes such a cookie only from this
host itself, over TLS and for all of its paths. Else another host of the domain could sign it in as somebody else.
"""

from __future__ import annotations

from typing import Literal

from starlette.requests import HTTPConnection
from starlette.responses import Response

from sordino_server.config import Settings
from sordino_server.console.transport import is_secure

SESSION = "sordino_session"
FORM = "sordino_sign_in"
# A sign-in at an OpenID provider; the state of the sign-in follows.
FLOW = "sordino_flow_"
_HOST = "__Host-"


def name_of(connection: HTTPConnection, settings: Settings, name: str) -> str:
    """What the cookie is called on the way that this browser takes."""
    return _HOST + name if is_secure(connection, settings) else name


def given(connection: HTTPConnection, settings: Settings, name: str) -> str | None:
    """The value that the browser sends; None where it sends none under the name that this way has."""
    return connection.cookies.get(name_of(connection, settings, name))


def begun(connection: HTTPConnection, settings: Settings) -> list[str]:
    """The names, without prefix, of the sign-ins that the browser has begun, the first one first."""
    prefix = name_of(connection, settings, "")
    names = [each[len(prefix) :] for each in connection.cookies if each.startswith(prefix)]
    return [each for each in names if each.startswith(FLOW)]


def put(
    response: Response,
    connection: HTTPConnection,
    settings: Settings,
    name: str,
    value: str,
    seconds: int,
    samesite: Literal["strict", "lax"] = "strict",
) -> None:
    """Set a cookie; one that is `strict` no other site's requests carry."""
    secure = is_secure(connection, settings)
    response.set_cookie(
        name_of(connection, settings, name),
        value,
        max_age=seconds,
        path=_path(secure),
        secure=secure,
        httponly=True,
        samesite=samesite,
    )


def remove(response: Response, connection: HTTPConnection, settings: Settings, name: str) -> None:
    """Let the browser forget a cookie; without its attributes a browser ignores that."""
    secure = is_secure(connection, settings)
    response.delete_cookie(
        name_of(connection, settings, name), path=_path(secure), secure=secure, httponly=True, samesite="strict"
    )


def _path(secure: bool) -> str:
    return "/" if secure else "/console"
