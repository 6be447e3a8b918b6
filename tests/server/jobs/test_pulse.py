"""A worker touches its file when it has polled the database, and while a lease or a purge says that it works."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from sordino_server.jobs import pulse
from sordino_server.jobs.pulse import Pulse
from sordino_server.jobs.worker import Worker
from sordino_server.kit.database_errors import DatabaseUnavailable
from tests.patience import PATIENCE_S


class Counted(Pulse):
    """Counts beats."""

    def __init__(self) -> None:
        super().__init__()
        self.beats = 0

    def beat(self) -> None:
        self.beats += 1


def until(condition: Any) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_file_is_touched_once_a_second_and_a_folder_that_is_gone_stops_nothing(tmp_path: Path) -> None:
    now, file = 10.0, tmp_path / "worker"
    beating = Pulse(file, lambda: now)
    beating.beat()
    file.unlink()
    now = 10.9
    beating.beat()
    assert not file.exists()
    now = 11.0
    beating.beat()
    assert file.exists()
    lost = Pulse(tmp_path / "gone" / "worker", lambda: now)
    with capture_logs() as logged:
        lost.beat()
        now = 20.0
        lost.beat()
    assert [each["event"] for each in logged] == ["the heartbeat cannot be written"]
    Pulse().beat()


def test_it_goes_on_while_a_block_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "_WHILE_BUSY_S", 0.01)
    beating = Counted()
    with beating.beating():
        until(lambda: beating.beats >= 2)
    told = beating.beats
    assert threading.active_count() >= 1
    assert beating.beats == told


def worker_of(running: Any, beating: Pulse) -> Worker:
    return Worker.of(
        running.database, running.clock, running.settings, lambda *told: running.compute(*told), pulse=beating
    )


def test_a_poll_counts_and_one_that_failed_does_not(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    beating = Counted()
    worker = worker_of(running, beating)
    failing = threading.Event()
    failed: list[int] = []

    def step(self: Worker) -> bool:
        if failing.is_set():
            failed.append(beating.beats)
            raise DatabaseUnavailable("gone")
        return False

    monkeypatch.setattr(Worker, "step", step)
    monkeypatch.setattr(type(worker.settings), "worker_poll_s", 0.001, raising=False)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        until(lambda: beating.beats >= 2)
        failing.set()
        until(lambda: len(failed) >= 2)
        assert failed[-1] == failed[0]
    finally:
        worker.stop.set()
        thread.join()
