"""The extra `sordino-client[httpx]`: httpx with fixed headers, a deadline for the whole request and a bounded body."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http.cookiejar import CookieJar, DefaultCookiePolicy
from io import BytesIO
from types import MappingProxyType

try:
    import httpx
except ImportError as error:
    raise ImportError("HttpxTransport needs httpx: pip install 'sordino-client[httpx]'") from error

from sordino_client._deadline import DeadlineTransport
from sordino_client._errors import TransportFailed
from sordino_client._transport import DEADLINE_S, TIMEOUT_S, Request, Response, check_address, headers_of, too_slow
from sordino_shared.errors import UnreadableBody
from sordino_shared.http.body import Body, codings_of, read_body
from sordino_shared.http.deadline import DeadlinePassed, deadline, time_left

# Set while a request is the SDK's: httpx would log its address, which names the campaign.
_OURS: ContextVar[bool] = ContextVar("sordino_client_request", default=False)


def _is_of_others(_: logging.LogRecord) -> bool:
    return not _OURS.get()


for _name in ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy"):
    logging.getLogger(_name).addFilter(_is_of_others)


@contextmanager
def _unlogged() -> Iterator[None]:
    before = _OURS.set(True)
    try:
        yield
    finally:
        _OURS.reset(before)


def _no_cookies() -> CookieJar:
    return CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))


def _trust(address: str) -> ssl.SSLContext:
    """Certificate authorities for https. Loading them takes 45 ms, so http gets a context that trusts nobody."""
    if address.startswith("https://"):
        return httpx.create_ssl_context(trust_env=False)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _codings(response: httpx.Response) -> list[str]:
    """The codings of a response's raw bytes. A handler's answer that is no stream is there already, and decoded."""
    return [] if response.is_stream_consumed else codings_of(response.headers.get_list("content-encoding"))


async def _raw(response: httpx.Response) -> AsyncIterator[bytes]:
    if response.is_stream_consumed:
        yield response.content
        return
    async for chunk in response.aiter_raw():
        yield chunk


def _response(response: httpx.Response, body: BytesIO) -> Response:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(response.status_code, MappingProxyType(headers), body.getvalue())


class HttpxTransport:
    """Requests through httpx, each within `deadline_s` from its first step to the last byte of its answer.

    `timeout_s` bounds each single wait on the network. `handler` is an httpx transport to use instead of the network;
    the deadline is then looked at between the chunks of an answer.
    """

    def __init__(
        self,
        address: str,
        *,
        allow_http: bool = False,
        timeout_s: float = TIMEOUT_S,
        deadline_s: float = DEADLINE_S,
        handler: httpx.BaseTransport | None = None,
    ) -> None:
        self._address = check_address(address, allow_http)
        self._timeout_s = timeout_s
        self._deadline_s = deadline_s
        self._handler = handler
        self._opened: dict[int, httpx.Client] = {}

    def send(self, request: Request) -> Response:
        try:
            with deadline(self._deadline_s), _unlogged():
                return self._send(request)
        except DeadlinePassed as error:
            raise too_slow(self._address, self._deadline_s) from error

    def _send(self, request: Request) -> Response:
        try:
            return self._exchange(request)
        except httpx.HTTPError as error:
            time_left()
            raise TransportFailed(_describe(error, self._address)) from error
        except UnreadableBody as error:
            raise TransportFailed(str(error)) from error

    def _exchange(self, request: Request) -> Response:
        with self._http().stream(
            request.method, self._address + request.path, content=request.body, headers=headers_of(request)
        ) as response:
            body = BytesIO()
            chunks = [response.content] if response.is_stream_consumed else response.iter_raw()
            read_body(chunks, _codings(response), request.limit, body)
            return _response(response, body)

    def _http(self) -> httpx.Client:
        """The connections of this process: a forked child must not write to its parent's."""
        opened = self._opened.get(os.getpid())
        if opened is None:
            transport = self._handler or DeadlineTransport(_trust(self._address))
            made = httpx.Client(timeout=self._timeout_s, transport=transport, trust_env=False, cookies=_no_cookies())
            made.headers.clear()
            opened = self._opened.setdefault(os.getpid(), made)
        return opened

    def close(self) -> None:
        opened = self._opened.pop(os.getpid(), None)
        if opened is not None:
            opened.close()


class AsyncHttpxTransport:
    """The asyncio twin of `HttpxTransport`."""

    def __init__(
        self,
        address: str,
        *,
        allow_http: bool = False,
        timeout_s: float = TIMEOUT_S,
        deadline_s: float = DEADLINE_S,
        handler: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._address = check_address(address, allow_http)
        self._deadline_s = deadline_s
        self._http = httpx.AsyncClient(
            timeout=timeout_s,
            transport=handler or httpx.AsyncHTTPTransport(verify=_trust(self._address), trust_env=False),
            trust_env=False,
            cookies=_no_cookies(),
        )
        self._http.headers.clear()

    async def send(self, request: Request) -> Response:
        try:
            async with asyncio.timeout(self._deadline_s):
                with _unlogged():
                    return await self._send(request)
        except TimeoutError as error:
            raise too_slow(self._address, self._deadline_s) from error
        except httpx.HTTPError as error:
            raise TransportFailed(_describe(error, self._address)) from error
        except UnreadableBody as error:
            raise TransportFailed(str(error)) from error

    async def _send(self, request: Request) -> Response:
        async with self._http.stream(
            request.method, self._address + request.path, content=request.body, headers=headers_of(request)
        ) as response:
            into = BytesIO()
            body = Body(request.limit, _codings(response), into)
            async for chunk in _raw(response):
                body.add(chunk)
            body.end()
            return _response(response, into)

    async def close(self) -> None:
        await self._http.aclose()


def _describe(error: httpx.HTTPError, address: str) -> str:
    detail = str(error) or type(error).__name__
    return f"{address} did not answer ({detail}); is the address right, and is there a connection?"
