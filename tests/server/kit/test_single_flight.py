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
    assert first.result(10) == 0
    assert flight.outcome(work).result(10) == 1


def test_an_error_is_an_outcome_and_the_next_call_is_a_new_one() -> None:
    flight: SingleFlight[int] = SingleFlight()
    with pytest.raises(ZeroDivisionError):
        flight.outcome(lambda: 1 // 0).result(10)
    assert flight.outcome(lambda: 7).result(10) == 7
