"""SIGTERM under load: readiness fails first, what was taken is written and answered, and the process ends in time."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from sordino_server.kit.db import Database
from sordino_shared.protocol import CBOR_MEDIA_TYPE
from tests.patience import PATIENCE_S, slack

DRAIN_S = 4.0
SHUTDOWN_S = 3
# Beyond what clients get, the process has its pool and its interpreter to take down, on a machine that may be busy.
ENDING_S = 10


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_server_that_is_stopped_answers_what_it_has_written(
    engine: str,
    request: pytest.FixtureRequest,
    installation: Any,
    buckets: Callable[..., Any],
    load: Callable[..., Any],
) -> None:
    """Not one report is counted without its client having been told, though one client never finishes its request."""
    database = Database(request.getfixturevalue(f"migrated_{engine}_url"))
    url = database.url.render_as_string(hide_password=False)
    process, address = installation.serve("--no-worker", SORDINO_DATABASE_URL=url, SORDINO_SHUTDOWN_S=str(SHUTDOWN_S))
    clients = load(buckets(database), [address])
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port)) as never_done:
        # Of the right type, or it would be answered before its body is there and hold nothing up.
        head = f"POST {clients.round.path} HTTP/1.1\r\nHost: x\r\nContent-Type: {CBOR_MEDIA_TYPE}\r\n"
        never_done.sendall(f"{head}Content-Length: 9\r\n\r\nx".encode())
        with clients.running():
            clients.await_answers()
            begun = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0
            assert time.monotonic() - begun < SHUTDOWN_S + slack(ENDING_S)
            clients.await_troubles()
    assert clients.round.counts(database) == dict.fromkeys(clients.acknowledged, 1)
    database.close()


def test_a_server_that_is_stopped_says_so_before_it_takes_nothing_more(
    installation: Any, migrated_sqlite_url: str, buckets: Callable[..., Any], load: Callable[..., Any]
) -> None:
    """A load balancer sees /readyz fail while everybody is still answered, on new connections too."""
    database = Database(migrated_sqlite_url)
    here = {"SORDINO_DATABASE_URL": migrated_sqlite_url, "SORDINO_DRAIN_S": str(DRAIN_S)}
    process, address = installation.serve("--no-worker", **here)
    clients = load(buckets(database), [address])
    with clients.running():
        clients.await_answers()
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        await_ending(address)
        # Few, so that a busy machine answers them long before the server stops to listen.
        clients.await_answers(5)
        assert clients.troubles == 0
        assert process.wait(PATIENCE_S) == 0
        assert time.monotonic() - begun >= DRAIN_S
        clients.await_troubles()
    assert clients.round.counts(database) == dict.fromkeys(clients.acknowledged, 1)
    database.close()


@pytest.mark.parametrize(
    "signals",
    [(signal.SIGTERM, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT), (signal.SIGINT,)],
    ids=lambda signals: " then ".join(each.name for each in signals),
)
def test_whoever_does_not_want_to_wait_signals_again(installation: Any, signals: tuple[signal.Signals, ...]) -> None:
    """Ctrl-C waits for nobody: there is no load balancer in front of a terminal."""
    process, address = installation.serve("--no-worker", SORDINO_DRAIN_S="600")
    *before, last = signals
    for number in before:
        process.send_signal(number)
        await_ending(address)
    process.send_signal(last)
    assert process.wait(PATIENCE_S) == 0


def await_ending(address: str) -> None:
    """Until /readyz says that the server is ending."""
    deadline = time.monotonic() + PATIENCE_S
    while (answer := httpx.get(f"{address}/readyz", timeout=PATIENCE_S)).status_code == 200:
        assert time.monotonic() < deadline, "readiness goes on"
    assert (answer.status_code, answer.json()["detail"]) == (503, "the server is shutting down")
