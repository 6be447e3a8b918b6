"""One call at a time, whose outcome everybody who came meanwhile shares."""

from __future__ import annotations

import threading

import pytest

from sordino_server.kit.single_flight import SingleFlight
from tests.patience import PATIENCE_S


def test_whoever_comes_while_it_runs_shares_the_outcome() -> None:
    flight: SingleFlight[int] = SingleFlight()
    go, calls = threading.Event(), []

    def work() -> int:
        calls.append(len(calls))
        go.wait(PATIENCE_S)
        return calls[-1]

    first, second = flight.outcome(work), flight.outcome(work)
    assert first is second
    assert not first.done()
    go.set()
    assert first.result(PATIENCE_S) == 0
    assert flight.outcome(work).result(PATIENCE_S) == 1


def test_an_error_is_an_outcome_and_the_next_call_is_a_new_one() -> None:
    flight: SingleFlight[int] = SingleFlight()
    with pytest.raises(ZeroDivisionError):
        flight.outcome(lambda: 1 // 0).result(PATIENCE_S)
    assert flight.outcome(lambda: 7).result(PATIENCE_S) == 7


def test_a_thread_that_cannot_start_holds_up_no_later_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    flight: SingleFlight[int] = SingleFlight()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        with pytest.raises(RuntimeError, match="new thread"):
            flight.outcome(lambda: 1)
    assert flight.outcome(lambda: 2).result(PATIENCE_S) == 2
