"""Processes that die or cannot be started are started again, as soon as they should be."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from sordino_server.cli import supervision
from sordino_server.cli.supervision import Process, supervised
from tests.patience import PATIENCE_S


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(supervision, "_LONGEST_PAUSE_S", 0.05)


def starts(times: int, start: Callable[[int], Process]) -> list[float]:
    """The pauses before so many starts, of which `start` makes the one of a number."""
    number, enough = 0, threading.Event()

    def count() -> Process:
        nonlocal number
        number += 1
        if number > times:
            enough.set()
        return start(number)

    with capture_logs() as logs, supervised("worker", count, PATIENCE_S):
        assert enough.wait(PATIENCE_S)
    return [entry["pause_s"] for entry in logs][:times]


def asleep(seconds: float) -> Process:
    return subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds})"])


def test_a_process_that_cannot_be_started_is_started_later() -> None:
    def start(number: int) -> Process:
        if number < 3:
            raise BlockingIOError("Resource temporarily unavailable")
        return asleep(60)

    assert starts(2, start) == [0.01, 0.02]


def test_a_process_that_ran_for_long_is_restarted_at_once_though_it_died_before() -> None:
    assert starts(3, lambda number: asleep(0.1 if number < 4 else 60)) == [0.01] * 3
