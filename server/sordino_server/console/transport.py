"""How a browser reached the server: over TLS, or over plain HTTP from this machine or a listed network."""

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
    if not is_secure(request, settings):
        check_near(request, settings)


def check_near(request: HTTPConnection, settings: Settings) -> None:
    """Raise `forbidden` unless the peer is this machine, or in a network that SORDINO_CONSOLE_NETWORKS lists; a proxy
    there that forwards for others is not.
    """
    forwarded = any(name in request.headers for name in _FORWARDING)
    listed = TrustedProxies.parse(settings.console_networks).trusts_peer(request.scope)
    if not forwarded and (listed or _is_local(request)):
        return
    raise ServerError(
        Problem.FORBIDDEN,
        "over plain HTTP the console takes keys from this machine alone: put a TLS proxy in front of the server and "
        "list its address in SORDINO_TRUSTED_PROXIES, or tunnel the port with ssh; for a network of Docker, "
        "see SORDINO_CONSOLE_NETWORKS",
    )


def _is_local(request: HTTPConnection) -> bool:
    """Whether the peer is this machine."""
    if request.client is None:
        return False
    try:
        address = ipaddress.ip_address(request.client.host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
