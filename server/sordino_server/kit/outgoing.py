"""The one way in which this distribution asks other servers, all of them as untrusted."""

from __future__ import annotations

import os
import ssl
from tempfile import SpooledTemporaryFile
from typing import IO, Protocol

from sordino_shared.http.address import Address
from sordino_shared.http.environment import proxy_for
from sordino_shared.http.exchange import HttpAnswer, HttpRequest, HttpServer

# Plans may have a gibibyte. A larger answer than this waits on the disk until it is whole and is what was asked for.
_IN_MEMORY = 1 << 20


class Exchanger(Protocol):
    """Takes requests to a server; raises NoAnswer and OversizedDocument."""

    def exchange(self, request: HttpRequest) -> HttpAnswer: ...


def server_at(address: str) -> HttpServer:
    """The server at an address, through the proxy of the environment; raises InvalidValue for what is no address."""
    parsed = Address.parse(address)
    return HttpServer(address=parsed, trust=_authorities, proxy=proxy_for(parsed), room=_room)


def _room() -> IO[bytes]:
    return SpooledTemporaryFile(max_size=_IN_MEMORY)


def _authorities() -> ssl.SSLContext:
    """Those of SSL_CERT_FILE or SSL_CERT_DIR, or else those of the system and of Mozilla."""
    context = ssl.create_default_context()
    if not os.environ.get("SSL_CERT_FILE") and not os.environ.get("SSL_CERT_DIR"):
        import certifi

        context.load_verify_locations(certifi.where())
    return context
