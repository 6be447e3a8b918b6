"""How requests leave the device: a transport has two methods, and tests replace it.

Nothing here identifies a device or depends on its value: fixed headers, no cookies (any that a server sets are
dropped), no conditional requests, no redirects, nothing taken from the environment.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

from sordino_client._errors import TransportFailed, WrongArgument
from sordino_shared._records import dataclass
from sordino_shared.errors import OversizedDocument

# The protocol's version, not the SDK's or the app's: every device of protocol v1 says the same.
USER_AGENT = "sordino/1"
TIMEOUT_S = 30.0
# A part of 1 MiB passes at 70 kbit/s; a server that drips is left alone.
DEADLINE_S = 120.0


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request to the server: `path` starts with /v1, `limit` bounds the bytes of the response's body."""

    method: str
    path: str
    limit: int
    body: bytes | None = None
    authorization: str | None = None


@dataclass(frozen=True)
class Response:
    """Status, headers by lower-case name, and the whole body."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Transport(Protocol):
    """Sends requests; raises `TransportFailed` when no response arrived and `OversizedDocument` past the limit."""

    def send(self, request: Request) -> Response: ...

    def close(self) -> None: ...


class AsyncTransport(Protocol):
    """The same for asyncio."""

    async def send(self, request: Request) -> Response: ...

    async def close(self) -> None: ...


def check_address(address: str, allow_http: bool) -> str:
    """`address` in one spelling, without a slash at its end; https, or http to this machine or if the app insists."""
    # httpx takes longer to import than the rest of the SDK.
    import httpx

    if not isinstance(address, str):
        raise WrongArgument(f"the server's address is text, got {type(address).__name__}", address)
    try:
        parts, spelled = urlsplit(address), str(httpx.URL(address))
    except (ValueError, TypeError, httpx.InvalidURL) as error:
        raise WrongArgument(
            f"the server's address must look like https://telemetry.example: {error}", address
        ) from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WrongArgument(f"the server's address must look like https://telemetry.example, got {address!r}", address)
    if parts.query or parts.fragment or parts.username or parts.password:
        raise WrongArgument("the server's address must not carry a query, a fragment or a user", address)
    if parts.scheme == "http" and not allow_http and not _is_loopback(parts.hostname):
        raise WrongArgument(
            f"{address!r} is not encrypted: the network would see who reports; use https, or pass allow_http=True",
            address,
        )
    return spelled.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def exchange(transport: Transport, request: Request) -> Response | Exception:
    """What a request gave: a response, or why there is none, for a flow to go on with."""
    try:
        return transport.send(request)
    except (TransportFailed, OversizedDocument) as error:
        return error
