"""How a browser reached the server: over TLS, or over plain HTTP from this machine alone."""

from __future__ import annotations

import ipaddress

from starlette.requests import HTTPConnection

from sordino_server.config import Settings
from sordino_server.errors import ServerError
from sordino_server.kit.addresses import TrustedProxies
from sordino_shared.protocol import Problem

_FORWARDING = ("forwarded", "x-forwarded-for", "x-forwarded-proto")


def is_secure(request: HTTPConnection, settings: Settings) -> bool:
    """Whether the browser speaks TLS with the server, or with a trusted proxy that says so."""
    if request.url.scheme == "https":
        return True
    said = request.headers.getlist("x-forwarded-proto")
    trusted = TrustedProxies.parse(settings.trusted_proxies).trusts_peer(request.scope)
    return trusted and bool(said) and said[-1].rpartition(",")[2].strip().lower() == "https"


def check_safe(request: HTTPConnection, settings: Settings) -> None:
    """Raise `forbidden` where a key would cross a network in the clear."""
    if is_secure(request, settings) or _is_local(request):
        return
    raise ServerError(
        Problem.FORBIDDEN,
        "over plain HTTP the console takes keys from this machine alone: put a TLS proxy in front of the server and "
        "list its address in SORDINO_TRUSTED_PROXIES, or tunnel the port with ssh",
    )


def _is_local(request: HTTPConnection) -> bool:
    """Whether the peer is this machine; a proxy on it that forwards for others is not."""
    if request.client is None or any(name in request.headers for name in _FORWARDING):
        return False
    try:
        address = ipaddress.ip_address(request.client.host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
