"""What the environment says about the way to servers; devices never look at it."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from sordino_shared.errors import InvalidValue
from sordino_shared.http.address import Address
from sordino_shared.http.connection import Proxy


def proxy_for(address: Address) -> Proxy | None:
    """The proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names for an address, unless NO_PROXY excepts it."""
    known = getproxies()
    text = known.get(address.scheme) or known.get("all")
    if not text or proxy_bypass(f"{address.host}:{address.port}"):
        return None
    return proxy_at(text)


def proxy_at(text: str) -> Proxy:
    """The proxy at http://host:port, with user:password@ before the host where it needs them."""
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname, parts.port or 80
    except ValueError as error:
        raise InvalidValue(f"the address of the proxy cannot be read: {error}", text) from error
    if parts.scheme != "http" or host is None:
        raise InvalidValue("a proxy is at http://host:port; no other kind is used", text)
    return Proxy(host, port, _basic(parts.username, parts.password))


def _basic(user: str | None, password: str | None) -> str | None:
    if user is None:
        return None
    return "Basic " + b64encode(f"{unquote(user)}:{unquote(password or '')}".encode()).decode()
