"""How requests leave the device: a transport has two methods, and tests replace it.

Nothing here identifies a device or depends on its value: fixed headers, no cookies (any that a server sets are
dropped), no conditional requests, no redirects, nothing taken from the environment.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import MappingProxyType
from typing import Protocol
from urllib.parse import urlsplit

import httpx

from sordino_client._errors import TransportFailed
from sordino_shared.errors import InvalidValue, OversizedDocument
from sordino_shared.protocol import CBOR_MEDIA_TYPE

# The protocol's version, not the SDK's or the app's: every device of protocol v1 says the same.
USER_AGENT = "sordino/1"
TIMEOUT_S = 30.0
_FIXED_HEADERS = {"User-Agent": USER_AGENT, "Accept": CBOR_MEDIA_TYPE, "Accept-Encoding": "gzip"}


@dataclass(frozen=True)
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
    """`address` without a slash at its end; https, or http to this machine, or http where the app insists."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidValue(f"the server's address must look like https://telemetry.example, got {address!r}", address)
    if parts.query or parts.fragment or parts.username or parts.password:
        raise InvalidValue("the server's address must not carry a query, a fragment or a user", address)
    if parts.scheme == "http" and not allow_http and not _is_loopback(parts.hostname):
        raise InvalidValue(
            f"{address!r} is not encrypted: the network would see who reports; use https, or pass allow_http=True",
            address,
        )
    return address.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _headers(request: Request) -> dict[str, str]:
    headers = dict(_FIXED_HEADERS)
    if request.body is not None:
        headers["Content-Type"] = CBOR_MEDIA_TYPE
    if request.authorization is not None:
        headers["Authorization"] = request.authorization
    return headers


def _no_cookies() -> CookieJar:
    return CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))


def _trust(address: str) -> ssl.SSLContext | bool:
    """Certificate authorities for https. Loading them takes 45 ms, so http gets a context that trusts nobody."""
    return True if address.startswith("https://") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class _Body:
    """Collects chunks up to the request's limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: list[bytes] = []
        self._size = 0

    def add(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size > self._limit:
            raise OversizedDocument(self._size, self._limit)
        self._chunks.append(chunk)

    def response(self, response: httpx.Response) -> Response:
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Response(response.status_code, MappingProxyType(headers), b"".join(self._chunks))


class HttpxTransport:
    """Requests through httpx; `handler` is an httpx transport to use instead of the network."""

    def __init__(
        self,
        address: str,
        *,
        allow_http: bool = False,
        timeout_s: float = TIMEOUT_S,
        handler: httpx.BaseTransport | None = None,
    ) -> None:
        self._address = check_address(address, allow_http)
        trust = _trust(self._address)
        self._http = httpx.Client(
            timeout=timeout_s, transport=handler, trust_env=False, cookies=_no_cookies(), verify=trust
        )
        self._http.headers.clear()

    def send(self, request: Request) -> Response:
        body = _Body(request.limit)
        try:
            with self._http.stream(
                request.method, self._address + request.path, content=request.body, headers=_headers(request)
            ) as response:
                for chunk in response.iter_bytes():
                    body.add(chunk)
        except httpx.HTTPError as error:
            raise TransportFailed(_describe(error, self._address)) from error
        return body.response(response)

    def close(self) -> None:
        self._http.close()


class AsyncHttpxTransport:
    """The asyncio twin of `HttpxTransport`."""

    def __init__(
        self,
        address: str,
        *,
        allow_http: bool = False,
        timeout_s: float = TIMEOUT_S,
        handler: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._address = check_address(address, allow_http)
        trust = _trust(self._address)
        self._http = httpx.AsyncClient(
            timeout=timeout_s, transport=handler, trust_env=False, cookies=_no_cookies(), verify=trust
        )
        self._http.headers.clear()

    async def send(self, request: Request) -> Response:
        body = _Body(request.limit)
        try:
            async with self._http.stream(
                request.method, self._address + request.path, content=request.body, headers=_headers(request)
            ) as response:
                async for chunk in response.aiter_bytes():
                    body.add(chunk)
        except httpx.HTTPError as error:
            raise TransportFailed(_describe(error, self._address)) from error
        return body.response(response)

    async def close(self) -> None:
        await self._http.aclose()


def _describe(error: httpx.HTTPError, address: str) -> str:
    detail = str(error) or type(error).__name__
    return f"{address} did not answer ({detail}); is the address right, and is there a connection?"
