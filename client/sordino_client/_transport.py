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
from sordino_shared.errors import InvalidValue, OversizedDocument
from sordino_shared.http.address import Address
from sordino_shared.protocol import CBOR_MEDIA_TYPE

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
    accept: str = CBOR_MEDIA_TYPE


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


def headers_of(request: Request) -> dict[str, str]:
    """The headers of a request, but for those of the connection: the same on every device."""
    headers = {"User-Agent": USER_AGENT, "Accept": request.accept, "Accept-Encoding": "gzip"}
    if request.body is not None:
        headers["Content-Type"] = CBOR_MEDIA_TYPE
    if request.authorization is not None:
        headers["Authorization"] = request.authorization
    return headers


def too_slow(address: str, seconds: float) -> TransportFailed:
    """The error of a request whose deadline passed."""
    return TransportFailed(
        f"{address} took longer than {seconds:g} s for one request; try again with a better connection"
    )


def check_address(address: str, allow_http: bool) -> str:
    """`address` in one spelling, without a slash at its end; https, or http to this machine or if the app insists."""
    if not isinstance(address, str):
        raise WrongArgument(f"the server's address is text, got {type(address).__name__}", address)
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise WrongArgument(
            f"the server's address must look like https://telemetry.example: {error}", address
        ) from error
    if parts.scheme not in ("http", "https") or not host:
        raise WrongArgument(f"the server's address must look like https://telemetry.example, got {address!r}", address)
    if parts.query or parts.fragment or parts.username or parts.password:
        raise WrongArgument("the server's address must not carry a query, a fragment or a user", address)
    if not host.isascii():
        raise WrongArgument(f"the server's host is written in ASCII: {_punycode(host)}", address)
    spelled = _spelled(address)
    if parts.scheme == "http" and not allow_http and not _is_loopback(host):
        raise WrongArgument(
            f"{address!r} is not encrypted: the network would see who reports; use https, or pass allow_http=True",
            address,
        )
    return spelled


def _spelled(address: str) -> str:
    try:
        found = Address.parse(address)
        return f"{found.scheme}://{found.authority}{found.target('')}"
    except (InvalidValue, UnicodeError) as error:
        raise WrongArgument(
            f"the server's address must look like https://telemetry.example: {error}", address
        ) from error


def _punycode(host: str) -> str:
    try:
        return f"for {host} write {host.encode('idna').decode('ascii')}"
    except UnicodeError:
        return f"{host!r} is no name of a host"


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
