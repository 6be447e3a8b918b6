"""Series on PostgreSQL, and a worker that comes back after a year."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from sordino_server.models import Round
from sordino_server.rounds.periods import close_due_periods
from tests.estimates import answers_of
from tests.server.series.conftest import a_year, begin


def test_a_series_lives_on_postgresql(running_on_postgres: Any) -> None:
    """First reports of one period from two connections at once make one round; then what SQLite does as well."""
    series = begin(running_on_postgres)
    series.at(0)
    answers: list[int] = []
    senders = [
        threading.Thread(target=lambda seed=seed: answers.append(series.report(0, [0] * 20, seed=seed).status_code))
        for seed in range(4)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert answers == [200] * 4
    assert series.act("pause").status_code == 200
    assert series.refusal(0) == (409, "paused")
    assert series.act("resume").status_code == 200
    series.at(70_000)
    assert series.report(70_000, [1]).status_code == 200
    assert len(close_due_periods(running_on_postgres.database, running_on_postgres.clock.now())) == 1
    running_on_postgres.work()
    states = {each["index"]: (each["state"], each["reports"]) for each in series.status["rounds"]}
    assert states == {0: ("estimated", 80), 70_000: ("open", 1)}
    found = series.document(**{"from": 0, "to": 7, "window": 1})
    assert {row["users"] for row in answers_of(found) if row["part"] == "window"} == {80}
    assert series.refusal(2**32 - 1) == (409, "early")


@pytest.mark.slow
def test_a_worker_closes_and_estimates_a_year_in_a_minute(running: Any) -> None:
    """Of processor time; every period has its estimate, in order."""
    series = begin(running, slots=30, late_s=0)
    a_year(series)
    series.at(365)
    begun = time.process_time()
    running.work()
    seconds = time.process_time() - begun
    with running.database.read("test") as session:
        rows = session.query(Round.index, Round.state).filter(Round.campaign_id == series.id).order_by(Round.id).all()
    assert rows == [(day, "estimated") for day in range(365)]
    print(f"{seconds:.1f} s of CPU")
    assert seconds < 60
