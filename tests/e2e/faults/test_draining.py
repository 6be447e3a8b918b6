"""SIGTERM under load: what was taken is written and answered, then the process ends with code 0, in time."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from sordino_server.kit.db import Database
from sordino_shared.protocol import CBOR_MEDIA_TYPE

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
            assert process.wait(SHUTDOWN_S + ENDING_S) == 0
            assert time.monotonic() - begun < SHUTDOWN_S + ENDING_S
            clients.await_troubles()
    assert clients.round.counts(database) == dict.fromkeys(clients.acknowledged, 1)
    database.close()
