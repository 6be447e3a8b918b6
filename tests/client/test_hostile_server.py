"""A server that packs gigabytes into bytes, or sends a byte at a time: refused within twice the limit and in time."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sordino_client import (
    AsyncHttpTransport,
    AsyncHttpxTransport,
    Caps,
    Client,
    ClientError,
    HttpTransport,
    HttpxTransport,
    PlanRefused,
    PlanUnavailable,
    PureEpsilon,
    Request,
    TransportFailed,
)
from sordino_shared.errors import OversizedDocument
from tests.hostile_http import Script, answers, drips, hostile_servers, nested

LIMIT = 1 << 20
TWINS: dict[str, Any] = {
    "sync": HttpTransport,
    "async": AsyncHttpTransport,
    "httpx": HttpxTransport,
    "async httpx": AsyncHttpxTransport,
}
ID = "00" * 32


@pytest.fixture
def serve() -> Iterator[Callable[[Script], str]]:
    with hostile_servers() as start:
        yield start


def ask(address: str, twin: str, deadline_s: float = 60.0) -> bytes:
    request = Request(method="GET", path="/v1/x", limit=LIMIT)
    kind = TWINS[twin]
    if kind in (HttpTransport, HttpxTransport):
        transport = kind(address, deadline_s=deadline_s)
        try:
            return transport.send(request).content
        finally:
            transport.close()

    async def send() -> bytes:
        transport = kind(address, deadline_s=deadline_s)
        try:
            return (await transport.send(request)).content
        finally:
            await transport.close()

    return asyncio.run(send())


# Made when a test asks for one: packing zeros takes half a second.
BOMBS = {
    "one gzip of zeros": lambda: answers(nested(1), "gzip"),
    "three codings": lambda: answers(nested(3), "gzip, gzip, gzip"),
    "three headers": lambda: answers(nested(2), "gzip\r\nContent-Encoding: gzip"),
    "a name without end in the gzip": lambda: answers(b"\x1f\x8b\x08\x08\0\0\0\0\0\xff" + b"a" * (4 << 20), "gzip"),
    "empty blocks without end": lambda: answers(gzip.compress(b"")[:10] + b"\0\0\0\xff\xff" * (1 << 20), "gzip"),
    "plain": lambda: answers(bytes(LIMIT + 1)),
}


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_within_twice_the_limit(serve, bomb, twin) -> None:
    address = serve(BOMBS[bomb]())
    ask(serve(answers(b"what is loaded once")), twin)
    tracemalloc.start()
    try:
        with pytest.raises((OversizedDocument, TransportFailed)):
            ask(address, twin)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 2 * LIMIT


@pytest.mark.parametrize("twin", TWINS)
def test_one_gzip_of_a_whole_document_is_read(serve, twin) -> None:
    document = bytes(range(256)) * (LIMIT // 256)
    assert ask(serve(answers(gzip.compress(document), "gzip")), twin) == document
    assert ask(serve(answers(document)), twin) == document
    assert ask(serve(answers(b"", "GZIP", "404 Not Found")), twin) == b""


BROKEN = {
    "cut": (gzip.compress(b"hello")[:-3], "gzip", "ends before its end"),
    "followed": (gzip.compress(b"hello") + b"x", "gzip", "bytes follow"),
    "no gzip": (b"hello", "gzip", "damaged"),
    "wrong sum": (gzip.compress(b"hello")[:-8] + bytes(8), "gzip", "damaged"),
    "brotli": (b"hello", "br", "content coding 'br'"),
    "identity by name": (b"hello", "identity", "content coding"),
    "twice": (gzip.compress(gzip.compress(b"hello")), "gzip, gzip", "at most one gzip"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_another_coding_and_a_damaged_gzip_are_no_answer(serve, case) -> None:
    body, coding, reason = BROKEN[case]
    with pytest.raises(TransportFailed, match=reason):
        ask(serve(answers(body, coding)), "sync")


DRIPS = {
    "head": drips(b"HTTP/1.1 200 OK\r\nX: ", b"a", b"\r\nContent-Length: 0\r\n\r\n"),
    "body": drips(b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n", b"a", b""),
    "chunks": drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n", b"0\r\n\r\n"),
    "status lines": drips(b"", b"HTTP/1.1 102 Processing\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
}


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("what", DRIPS)
def test_the_whole_request_has_a_deadline(serve, what, twin) -> None:
    """The server would send a whole answer after 10 s, never pausing for as long as a wait may take."""
    with pytest.raises(TransportFailed, match=r"took longer than 0\.5 s"):
        ask(serve(DRIPS[what]), twin, deadline_s=0.5)


def test_a_name_that_is_not_resolved_ends_with_the_deadline(monkeypatch) -> None:
    """The resolver of the system answers when the test is over."""
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(60) and [])
    try:
        with pytest.raises(TransportFailed, match=r"took longer than 0\.5 s"):
            ask("https://telemetry.example", "sync", deadline_s=0.5)
    finally:
        over.set()


@pytest.mark.parametrize("bomb", BOMBS)
def test_the_sdk_turns_every_bomb_into_an_error_of_its_own(serve, bomb, tmp_path) -> None:
    caps = Caps(PureEpsilon.of(1), 30, PureEpsilon.of(1))
    with Client(serve(BOMBS[bomb]()), ledger=tmp_path / "ledger", caps=caps) as client:
        with pytest.raises(ClientError) as caught:
            client.join(ID)
        assert isinstance(caught.value, (PlanRefused, PlanUnavailable))
