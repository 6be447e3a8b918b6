"""Clients that send slowly, half, or never read cost the others nothing; what breaks off is counted as refused."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest

from sordino_server.kit.db import Database
from sordino_server.reports import repository as reports
from sordino_server.serving.http_protocol import HEAD_TIMEOUT_S
from tests.patience import PATIENCE_S, slack

HALF_OPEN = 40
# Fifty batches take a second on one busy core; a server that waited for its slow clients would wait for ever.
ALL_ANSWERED_S = 30.0


@pytest.fixture
def database(migrated_sqlite_url: str) -> Iterator[Database]:
    database = Database(migrated_sqlite_url)
    yield database
    database.close()


def test_half_open_and_slow_clients_stall_nobody(
    installation: Any,
    database: Database,
    buckets: Callable[..., Any],
    load: Callable[..., Any],
    wait_until: Callable[..., None],
) -> None:
    _, address = installation.serve("--no-worker", SORDINO_DATABASE_URL=str(database.url))
    clients = load(buckets(database), [address])
    body = clients.round.body(range(9000, 9020))
    head = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/cbor\r\nContent-Length: %d\r\n\r\n" % (
        clients.round.path.encode(),
        len(body),
    )
    with ExitStack() as stack:
        place = urlsplit(address)
        sockets = [
            stack.enter_context(socket.create_connection((place.hostname, place.port)))
            for _ in range(3 * HALF_OPEN + 1)
        ]
        silent, cut, slow = (sockets[start : start + HALF_OPEN] for start in range(0, 3 * HALF_OPEN, HALF_OPEN))
        deaf = sockets[-1]
        for connection in cut:
            connection.sendall(head + body[:-1])
        for connection in slow:
            connection.sendall(head[:20])
        # Answered a hundred times and more, and never read.
        deaf.sendall((head + body) * 200)
        with clients.running():
            assert clients.await_answers(50) < slack(ALL_ANSWERED_S)
            sent = 20
            for connection in slow:
                connection.sendall(head[sent:] + body[:1])
            assert clients.await_answers(50) < slack(ALL_ANSWERED_S)
        assert silent
        slow[0].sendall(body[1:])
        assert slow[0].recv(12) == b"HTTP/1.1 200"
    broken = 2 * HALF_OPEN - 1
    wait_until(lambda: refusals(database, clients.round) == {"malformed-body": broken}, "what broke off is counted")
    assert clients.round.counts(database) == dict.fromkeys({*clients.acknowledged, *range(9000, 9020)}, 1)


def test_a_head_of_a_request_without_end_is_cut_off(installation: Any) -> None:
    """By its size, for time would take its time: the server speaks HTTP with its own limits."""
    _, address = installation.serve("--no-worker")
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=PATIENCE_S) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nX-Filler: x")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            connection.sendall(b"x" * (64 << 20))


@pytest.mark.slow
def test_half_a_head_is_cut_off_in_time(installation: Any) -> None:
    _, address = installation.serve("--no-worker")
    place, begun = urlsplit(address), time.monotonic()
    with socket.create_connection((place.hostname, place.port), timeout=PATIENCE_S) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nX-Filler: ")
        assert connection.recv(12) == b"HTTP/1.1 408"
    assert 0.5 * HEAD_TIMEOUT_S < time.monotonic() - begun < HEAD_TIMEOUT_S + slack(0.5 * HEAD_TIMEOUT_S)


def refusals(database: Database, round_: Any) -> dict[str, int]:
    with database.read() as session:
        return reports.refusals(session, [round_.campaign])[round_.campaign]


def test_a_thousand_idle_connections_of_one_address_keep_nobody_out(installation: Any) -> None:
    """Each was a descriptor until the head of its request was due."""
    process, address = installation.serve("--no-worker")
    place = urlsplit(address)
    with ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection((place.hostname, place.port), PATIENCE_S, ("127.0.0.2", 0)))
            for _ in range(1000)
        ]
        # Connections are accepted in their order: when this one is answered, the others have been.
        with socket.create_connection((place.hostname, place.port), PATIENCE_S) as other:
            other.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            assert other.recv(12) == b"HTTP/1.1 200"
            assert len(os.listdir(f"/proc/{process.pid}/fd")) < 400
        # The latest is among those that are kept.
        idle[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle[-1].recv(12) == b"HTTP/1.1 200"
