"""Heads and trailers of requests that never end, on real sockets: cut off in time, and nobody else is."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from sordino_server.serving.http_protocol import MAX_HEAD_BYTES, HttpProtocol
from sordino_server.serving.idle_connections import IdleConnections
from sordino_shared.http.senders import TrustedProxies
from sordino_shared.protocol import PROBLEM_MEDIA_TYPE, Problem
from tests.patience import PATIENCE_S, slack

TIMEOUT_S = 0.5
# What a busy machine may add to every wait.
SLACK_S = 1.5
DRIP_S = 0.05
HEAD = b"POST /%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
CHUNKED = b"POST /%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Impatient(HttpProtocol):
    head_timeout_s = TIMEOUT_S


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the body, but answers /early before it; takes its time for /late; says when trailers came as headers."""
    while scope["path"] != "/early" and (await receive())["more_body"]:
        pass
    if scope["path"] == "/late":
        await asyncio.sleep(2.75 * TIMEOUT_S)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    trailed = any(name == b"digest" for name, _ in scope["headers"])
    await send({"type": "http.response.body", "body": b"no" if trailed else b"ok"})


@contextmanager
def serving(
    keep_alive_s: int = 60,
    protocol: type[HttpProtocol] = Impatient,
    app: ASGIApp = application,
    loop: Literal["auto", "asyncio", "uvloop"] = "auto",
) -> Iterator[tuple[str, int]]:
    config = uvicorn.Config(
        app,
        port=0,
        loop=loop,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        server_header=False,
        date_header=False,
        timeout_keep_alive=keep_alive_s,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield server.servers[0].sockets[0].getsockname()
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    with serving() as address:
        yield address


@pytest.fixture
def client(address: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture(scope="module")
def patient_address() -> Iterator[tuple[str, int]]:
    with serving(protocol=HttpProtocol) as address:
        yield address


@pytest.fixture
def patient(patient_address: tuple[str, int]) -> Iterator[socket.socket]:
    """A connection with all the time it may have: whatever ends it sooner is something else."""
    with socket.create_connection(patient_address, timeout=PATIENCE_S) as client:
        yield client


def until_end(client: socket.socket, begun: float | None = None) -> tuple[bytes, float]:
    """Everything that still comes, and the seconds from `begun` or now until the server ends the connection."""
    begun, parts = begun or time.monotonic(), []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts), time.monotonic() - begun


def exchange(client: socket.socket, path: bytes = b"", body: bytes = b"") -> None:
    client.sendall(HEAD % (path, len(body)) + body)
    check_answered(client)


def check_answered(client: socket.socket) -> None:
    answer = b""
    # A socket with a timeout returns what is there, whatever MSG_WAITALL asks for.
    while len(answer) < len(OK) and (piece := client.recv(len(OK) - len(answer))):
        answer += piece
    assert answer == OK


def check_timeout(answer: bytes) -> None:
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    assert status == "HTTP/1.1 408 Request Timeout"
    assert headers["content-type"] == PROBLEM_MEDIA_TYPE
    assert headers["connection"] == "close"
    assert headers["x-content-type-options"] == "nosniff"
    assert "x-request-id" not in headers
    assert len(body) == int(headers["content-length"])
    assert json.loads(body)["type"] == f"/problems/{Problem.REQUEST_TIMEOUT.slug}"


def dripped(client: socket.socket, piece: Callable[[int], bytes]) -> float:
    """Seconds until the server is found to take no more of what comes piece by piece."""
    begun = time.monotonic()
    client.settimeout(DRIP_S)
    for index in range(10_000):
        try:
            client.sendall(piece(index))
            # Left where it is: the answer is read afterwards.
            client.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            pass
        break
    client.settimeout(PATIENCE_S)
    return time.monotonic() - begun


def test_a_connection_without_a_byte_is_closed_silently(address: tuple[str, int]) -> None:
    begun = time.monotonic()
    with socket.create_connection(address, timeout=PATIENCE_S) as client:
        answer, seconds = until_end(client, begun)
    assert answer == b""
    assert TIMEOUT_S / 2 < seconds < TIMEOUT_S + slack(SLACK_S)


def test_half_a_head_is_answered_408(address: tuple[str, int]) -> None:
    begun = time.monotonic()
    with socket.create_connection(address, timeout=PATIENCE_S) as client:
        client.sendall(HEAD[:20])
        answer, seconds = until_end(client, begun)
    check_timeout(answer)
    assert TIMEOUT_S / 2 < seconds < TIMEOUT_S + slack(SLACK_S)


def test_bytes_that_keep_coming_earn_no_more_time(client: socket.socket) -> None:
    head = b"GET / HTTP/1.1\r\n" + b"X-Filler: 1\r\n" * 1000
    assert dripped(client, lambda index: head[index : index + 1]) < TIMEOUT_S + slack(SLACK_S)
    check_timeout(until_end(client)[0])


def test_empty_lines_are_no_head(client: socket.socket) -> None:
    assert dripped(client, lambda index: b"\r\n") < TIMEOUT_S + slack(SLACK_S)
    assert until_end(client)[0] == b""


def test_a_later_head_is_timed_like_the_first(client: socket.socket) -> None:
    for _ in range(3):
        begun = time.monotonic()
        exchange(client)
    client.sendall(HEAD[:20])
    answer, seconds = until_end(client, begun)
    check_timeout(answer)
    assert TIMEOUT_S / 2 - 0.1 < seconds < TIMEOUT_S + slack(SLACK_S)


def test_requests_on_one_connection_go_on_for_as_long_as_they_come(address: tuple[str, int]) -> None:
    """Again where this process itself paused for so long between two requests that the server may end them."""
    for _ in range(20):
        longest, before = 0.0, time.monotonic()
        with socket.create_connection(address, timeout=PATIENCE_S) as client, suppress(AssertionError, OSError):
            for _ in range(12):
                longest, before = max(longest, time.monotonic() - before), time.monotonic()
                exchange(client, body=b"x")
                time.sleep(TIMEOUT_S / 4)
            return
        assert max(longest, time.monotonic() - before) > TIMEOUT_S / 2
    raise AssertionError("this process paused every time")


def test_a_slow_body_is_not_the_heads_affair(client: socket.socket) -> None:
    client.sendall(HEAD % (b"", 10))
    for _ in range(10):
        time.sleep(TIMEOUT_S / 4)
        client.sendall(b"x")
    check_answered(client)


def test_while_an_answer_is_made_the_next_head_may_wait(address: tuple[str, int]) -> None:
    """Half of the time at least, counted from the answer; begun at the look before, it would be a quarter.

    Again where this process learned of the answer late.
    """

    def waited() -> float:
        begun = time.monotonic()
        with socket.create_connection(address, timeout=PATIENCE_S) as client:
            client.sendall(HEAD % (b"late", 0) + HEAD[:20])
            check_answered(client)
            assert time.monotonic() - begun > 2.5 * TIMEOUT_S
            answer, seconds = until_end(client)
        check_timeout(answer)
        assert seconds < TIMEOUT_S + slack(SLACK_S)
        return seconds

    assert any(waited() > TIMEOUT_S / 2 for _ in range(5))


def test_what_is_left_of_an_answered_request_may_not_drip_for_ever(client: socket.socket) -> None:
    client.sendall(HEAD % (b"early", 10_000))
    check_answered(client)
    assert dripped(client, lambda index: b"x") < TIMEOUT_S + slack(SLACK_S)
    assert until_end(client)[0] == b""


def check_cut_off(client: socket.socket, piece: bytes) -> None:
    """`piece` again and again ends the connection soon after MAX_HEAD_BYTES."""
    sent = 0
    with suppress(ConnectionResetError, BrokenPipeError):
        while sent < 16 * MAX_HEAD_BYTES:
            sent += client.send(piece)
            time.sleep(0.001)
    assert sent < 4 * MAX_HEAD_BYTES


@pytest.mark.parametrize("before", [0, 1])
def test_a_head_without_end_takes_no_memory_without_end(patient: socket.socket, before: int) -> None:
    for _ in range(before):
        exchange(patient)
    patient.sendall(b"GET / HTTP/1.1\r\nX-Filler: ")
    check_cut_off(patient, b"x" * 8192)


@pytest.mark.parametrize("path", [b"", b"early"])
@pytest.mark.parametrize(
    ("begin", "piece"),
    [(b"0\r\nX-Filler: ", b"x" * 8192), (b"0\r\n", b"a: b\r\n" * 1000), (b"5;", b"x" * 8192)],
    ids=["trailer", "trailers", "extension"],
)
def test_nothing_around_a_body_grows_without_end(
    patient: socket.socket, path: bytes, begin: bytes, piece: bytes
) -> None:
    patient.sendall(CHUNKED % path + b"5\r\nabcde\r\n" + begin)
    if path == b"early":
        check_answered(patient)
    check_cut_off(patient, piece)


@pytest.mark.parametrize("path", [b"", b"early"])
@pytest.mark.parametrize("size", [1, 10 * MAX_HEAD_BYTES])
def test_chunks_of_any_size_and_small_trailers_are_taken(patient: socket.socket, path: bytes, size: int) -> None:
    chunk = b"%x\r\n%s\r\n" % (size, b"x" * size)
    request = CHUNKED % path + chunk * (10 * MAX_HEAD_BYTES // size) + b"0\r\nDigest: none\r\n\r\n"
    for _ in range(2):
        for start in range(0, len(request), 50_000):
            patient.sendall(request[start : start + 50_000])
        check_answered(patient)


@pytest.mark.parametrize("at_once", [True, False])
def test_trailers_are_no_headers(client: socket.socket, at_once: bool) -> None:
    parts = [CHUNKED % b"", b"5\r\nabcde\r\n", b"0\r\nDigest: none\r\n\r\n"]
    for part in [b"".join(parts)] if at_once else parts:
        client.sendall(part)
        time.sleep(DRIP_S)
    check_answered(client)


def test_large_heads_and_bodies_in_pieces_are_taken(client: socket.socket) -> None:
    filler = b"X-Filler: %s\r\n" % (b"x" * (MAX_HEAD_BYTES - 2000))
    for _ in range(3):
        request = (HEAD % (b"", 100_000)).replace(b"\r\n\r\n", b"\r\n" + filler + b"\r\n") + b"x" * 100_000
        for start in range(0, len(request), 10_000):
            client.sendall(request[start : start + 10_000])
        check_answered(client)


def test_silence_after_an_answer_is_uvicorns_affair() -> None:
    with serving(keep_alive_s=1, protocol=HttpProtocol) as address, socket.create_connection(address) as client:
        exchange(client)
        answer, seconds = until_end(client)
    assert answer == b""
    assert 0.5 < seconds < 1 + slack(SLACK_S)


def opened(place: tuple[str, int], source: str) -> socket.socket:
    return socket.create_connection(place, PATIENCE_S, (source, 0))


def has_ended(connection: socket.socket) -> bool:
    connection.settimeout(PATIENCE_S)
    return connection.recv(1) == b""


def answered(connection: socket.socket) -> bool:
    connection.settimeout(PATIENCE_S)
    with connection.makefile("rb", buffering=0) as answer:
        return b"".join(answer.read(1) or b"" for _ in OK) == OK


def test_of_idle_connections_of_an_address_the_oldest_end() -> None:
    """A few hundred of one client kept everybody else out until heads were due."""
    most, asked = 4, HEAD % (b"late", 0)

    class Limited(HttpProtocol):
        idle_connections = IdleConnections(most, TrustedProxies.parse("127.0.0.9"))

    counted = Limited.idle_connections
    assert counted is not None
    begun, go_on = threading.Event(), threading.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/late":
            begun.set()
            await asyncio.to_thread(go_on.wait, PATIENCE_S)
        await application({**scope, "path": "/"}, receive, send)

    with serving(protocol=Limited, app=app) as place:
        busy = opened(place, "127.0.0.2")
        busy.sendall(asked)
        # It is being answered, and so is not idle.
        assert begun.wait(PATIENCE_S)
        others = [opened(place, "127.0.0.3") for _ in range(most)]
        flood = [opened(place, "127.0.0.2") for _ in range(5 * most)]
        proxied = [opened(place, "127.0.0.9") for _ in range(5 * most)]
        for connection in flood[: -most + 1]:
            assert has_ended(connection)
        # The latest, those of other addresses and of proxies are answered.
        for connection in [*flood[-most + 1 :], *others, *proxied]:
            connection.sendall(HEAD % (b"", 0))
            assert answered(connection)
        go_on.set()
        assert answered(busy)
        assert len(counted) == most + len(others)
        for connection in [busy, *flood, *others, *proxied]:
            connection.close()
        deadline = time.monotonic() + PATIENCE_S
        while len(counted):
            assert time.monotonic() < deadline, "connections that ended are counted"
            time.sleep(0.01)


def test_who_leaves_before_the_end_of_a_download_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """The answer before the last was written to a closed connection, which logged a traceback of 70 lines."""
    ended, sent, failed = threading.Event(), threading.Event(), list[BaseException]()

    async def download(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            sent.set()
            for _ in range(1000):
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
                await asyncio.sleep(0.001)
            await send({"type": "http.response.body", "body": b""})
        except RuntimeError as error:
            failed.append(error)
        finally:
            ended.set()

    for requests in (1, 2, 40):
        ended.clear()
        with serving(app=download) as place:
            connection = opened(place, "127.0.0.1")
            connection.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n" * requests)
            assert sent.wait(PATIENCE_S)
            connection.recv(1000)
            connection.close()
            assert ended.wait(PATIENCE_S)
    assert not failed
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


PIECES, PIECE = 200, b"x" * (64 << 10)


async def large(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers once the body is whole, with more than the buffers of a connection hold."""
    while (message := await receive()).get("more_body"):
        pass
    if message["type"] == "http.disconnect":
        return
    await asyncio.sleep(0.1)
    length = b"%d" % (PIECES * len(PIECE))
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    for number in range(PIECES):
        await send({"type": "http.response.body", "body": PIECE, "more_body": number < PIECES - 1})


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("requests", [1, 3])
def test_who_sends_no_more_reads_the_whole_answers(loop: Literal["asyncio", "uvloop"], requests: int) -> None:
    """As `nc -N` does: the connection was closed at once, and what was not written by then was lost."""
    with serving(app=large, protocol=HttpProtocol, loop=loop) as place, socket.create_connection(place) as client:
        client.settimeout(PATIENCE_S)
        client.sendall(HEAD % (b"x", 2) + b"ab")
        client.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n" * (requests - 1))
        client.shutdown(socket.SHUT_WR)
        # Until the answer waits for its reader.
        time.sleep(0.3)
        answers, _ = until_end(client)
    assert answers.count(b"HTTP/1.1 200 OK") == requests
    assert answers.count(b"x") == requests * PIECES * len(PIECE)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_who_sends_no_more_of_a_body_is_not_waited_for(loop: Literal["asyncio", "uvloop"]) -> None:
    with serving(app=large, protocol=HttpProtocol, loop=loop) as place, socket.create_connection(place) as client:
        client.settimeout(PATIENCE_S)
        client.sendall(HEAD % (b"x", 3) + b"ab")
        client.shutdown(socket.SHUT_WR)
        assert until_end(client)[0] == b""
