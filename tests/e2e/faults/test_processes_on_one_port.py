"""`sordino serve --processes 2`: one port, each report once, processes that come back or leave together."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from sordino_server.kit.db import Database
from tests.patience import PATIENCE_S
from tests.ports import free_port

Installation = Any
BATCH = 20


def _children(parent: int) -> set[int]:
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
            command = (status.parent / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == parent and fields[0] != "Z" and b"serve" in command:
            found.add(int(status.parent.name))
    return found


def test_two_processes_share_a_port_and_a_killed_one_comes_back(
    installation: Installation,
    migrated_postgres_url: str,
    buckets: Callable[..., Any],
    load: Callable[..., Any],
    wait_until: Callable[..., None],
) -> None:
    metrics = str(free_port())
    here = {"SORDINO_DATABASE_URL": migrated_postgres_url, "SORDINO_METRICS_PORT": metrics}
    process, address = installation.serve("--no-worker", "--processes", "2", **here)
    wait_until(lambda: len(_children(process.pid)) == 2, "two processes serve")
    database = Database(migrated_postgres_url)
    clients = load(buckets(database), [address])
    with clients.running():
        clients.await_answers()
        killed = min(_children(process.pid))
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: len(_children(process.pid) - {killed}) == 2, "another process serves")
        clients.await_answers()
    counts = clients.round.counts(database)
    assert set(counts.values()) == {1}
    assert clients.acknowledged <= set(counts)
    # What the killed process counted is still in the sum; what it had not answered yet may be missing.
    text = httpx.get(f"http://127.0.0.1:{metrics}/metrics", timeout=PATIENCE_S).text
    counted = float(text.split('sordino_reports_total{outcome="accepted"} ')[1].split()[0])
    assert len(counts) - clients.clients * BATCH <= counted <= len(counts)
    assert "sordino_queue_bytes" in text
    assert "sordino_rounds" in text
    serving = _children(process.pid)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    assert not any(Path(f"/proc/{each}").exists() for each in serving)
    database.close()


@pytest.mark.slow
def test_processes_leave_with_a_killed_parent(
    installation: Installation, migrated_postgres_url: str, wait_until: Callable[..., None]
) -> None:
    process, address = installation.serve("--no-worker", "--processes", "2", SORDINO_DATABASE_URL=migrated_postgres_url)
    wait_until(lambda: len(_children(process.pid)) == 2, "two processes serve")
    serving = _children(process.pid)
    process.kill()
    process.wait()
    wait_until(lambda: not any(Path(f"/proc/{each}").exists() for each in serving), "all have left")
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", int(address.rpartition(":")[2])))
        free.listen()


@pytest.mark.slow
@pytest.mark.parametrize("signals", [(signal.SIGINT,), (signal.SIGTERM, signal.SIGTERM)], ids=["one", "two"])
def test_ctrl_c_and_a_second_signal_wait_for_no_draining(
    installation: Installation, migrated_postgres_url: str, wait_until: Callable[..., None], signals: tuple[int, ...]
) -> None:
    here = {"SORDINO_DATABASE_URL": migrated_postgres_url, "SORDINO_DRAIN_S": "600"}
    process, address = installation.serve("--no-worker", "--processes", "2", **here)
    wait_until(lambda: len(_children(process.pid)) == 2, "two processes serve")
    for number in signals:
        process.send_signal(number)
        # Two signals of one kind that follow too closely are one.
        wait_until(lambda: not _is_ready(address), "no process is ready")
    assert process.wait(PATIENCE_S) == 0


def _is_ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz", timeout=PATIENCE_S).is_success
    except httpx.TransportError:
        return False


def test_sqlite_and_a_taken_port_are_refused(installation: Installation, migrated_postgres_url: str) -> None:
    refused = installation.run("serve", "--port", "0", "--processes", "2", code=2)
    assert "needs PostgreSQL" in " ".join(refused.stderr.split())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        here = {"SORDINO_DATABASE_URL": migrated_postgres_url, "SORDINO_PROCESSES": "2"}
        refused = installation.run("serve", "--port", port, "--no-worker", code=1, **here)
    assert "is in use" in " ".join(refused.stderr.split())
