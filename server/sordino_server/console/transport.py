"""How a browser reached the server: over TLS, or over plain HTTP from this machine or a listed network.

Over plain HTTP the name in Host is of this machine and no proxy shows: a page of another site whose name was made to
mean this machine (DNS rebinding), or a proxy on this machine that others reach without TLS, would carry keys.
"""

from __future__ import annotations

import re

from starlette.requests import HTTPConnection

from sordino_server.config import Settings
from sordino_server.errors import ServerError
from sordino_server.kit.addresses import PublicHosts, is_loopback, is_this_machine
from sordino_shared.http.senders import TrustedProxies
from sordino_shared.protocol import Problem

# Headers by which proxies, load balancers and networks of caches say for whom they ask.
_FORWARDING = re.compile(
    r"forwarded|forwarded-for|x-forwarded.*|x-original-.*|via|x-real-ip|x-real-host|x-client-ip|x-host|x-scheme"
    r"|x-url-scheme|front-end-https|client-ip|true-client-ip|x-cluster-client-ip|x-proxyuser-ip|x-envoy-.*|x-varnish"
    r"|x-rewrite-url|x-azure-.*|x-appengine-.*|x-amz-cf-.*|x-amzn-.*|cf-.*|cdn-loop|fastly-.*|x-arr-.*"
)
_PORT = re.compile(r":[0-9]{1,5}")
_SECURITY = "max-age=31536000"
HSTS = "Strict-Transport-Security"


def is_secure(request: HTTPConnection, settings: Settings) -> bool:
    """Whether the browser speaks TLS with the server, or with a trusted proxy that says so."""
    if request.url.scheme == "https":
        return True
    said = request.headers.getlist("x-forwarded-proto")
    trusted = TrustedProxies.parse(settings.trusted_proxies).trusts_peer(request.scope)
    return trusted and bool(said) and said[-1].rpartition(",")[2].strip().lower() == "https"


def headers_of_tls(request: HTTPConnection, settings: Settings) -> dict[str, str]:
    """What a browser is told over TLS: to come over TLS alone for a year."""
    return {HSTS: _SECURITY} if is_secure(request, settings) else {}


def check_safe(request: HTTPConnection, settings: Settings) -> None:
    """Raise `forbidden` where a key or a session would cross a network in the clear, or the name in Host is not one of
    SORDINO_PUBLIC_HOSTS; raises `malformed-request` unless there is one Host.
    """
    if not is_secure(request, settings):
        check_near(request, settings)
    elif not PublicHosts.parse(settings.public_hosts).has(_host(request)):
        raise ServerError(
            Problem.FORBIDDEN,
            "the console has no page under this name: SORDINO_PUBLIC_HOSTS lists the names, and a proxy passes the "
            "browser's Host on",
        )


def check_near(request: HTTPConnection, settings: Settings) -> None:
    """Raise `forbidden` unless the peer is this machine, or in a network that SORDINO_CONSOLE_NETWORKS lists, asks for
    a name of this machine, and forwards for nobody; raises `malformed-request` unless there is one Host.
    """
    named = _is_of_this_machine(_host(request))
    forwarded = any(_FORWARDING.fullmatch(name) for name in request.headers)
    # Browsers speak HTTP/1.1. A proxy that adds no header may be known by its older version.
    browser = request.scope.get("http_version") != "1.0"
    listed = TrustedProxies.parse(settings.console_networks).trusts_peer(request.scope)
    if named and not forwarded and browser and (listed or _is_local(request)):
        return
    raise ServerError(
        Problem.FORBIDDEN,
        "over plain HTTP the console takes keys from this machine alone, under http://127.0.0.1, http://localhost or "
        "http://[::1] and through no proxy: put a TLS proxy in front of the server and "
        "list its address in SORDINO_TRUSTED_PROXIES, or tunnel the port with ssh; for a network of Docker, "
        "see SORDINO_CONSOLE_NETWORKS",
    )


def _host(request: HTTPConnection) -> str:
    """The name or address in Host, in lower case and without its port."""
    given = request.headers.getlist("host")
    if len(given) != 1 or not given[0]:
        raise ServerError(
            Problem.MALFORMED_REQUEST, f"a request has one Host, which names the server; this one has {len(given)}"
        )
    host = given[0].lower()
    bracket = host.find("]")
    name, rest = (host[1:bracket], host[bracket + 1 :]) if host.startswith("[") and bracket > 0 else _cut(host)
    if rest and not _PORT.fullmatch(rest):
        raise ServerError(Problem.MALFORMED_REQUEST, "Host is no name or address with a port")
    return name


def _cut(host: str) -> tuple[str, str]:
    name, colon, port = host.partition(":")
    return name, colon + port


def _is_of_this_machine(host: str) -> bool:
    return is_this_machine(host)


def _is_local(request: HTTPConnection) -> bool:
    """Whether the peer is this machine."""
    return request.client is not None and is_loopback(request.client.host)
