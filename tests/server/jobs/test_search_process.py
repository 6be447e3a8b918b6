"""Searches for strings in a process: the same bytes, limits that say what to do, and no death that loses anything."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import time
from dataclasses import replace
from typing import Any

import pytest

from sordino_analysis.progress import Progress
from sordino_server.jobs.search_process import SearchEnded, SearchKilled, SearchProcess
from sordino_server.jobs.worker import Worker
from sordino_server.models import Round
from tests.server.answers.test_answers_on_demand_api import report_texts
from tests.server.answers.test_strings_api import campaign_of

SEARCH = SearchProcess(memory_mb=2048, time_limit_s=60)
TEXTS = ["the"] * 900 + ["of"] * 500 + [f"{number:03}" for number in range(300)]


def asleep(seconds: float, progress: Any) -> str:
    progress(Progress(0.5, "asleep"))
    time.sleep(seconds)
    return "done"


def much_memory(mebibytes: int, progress: Any) -> int:
    return len(bytearray(mebibytes << 20))


def broken(progress: Any) -> None:
    raise RuntimeError("a bug")


def kill(_: Progress) -> None:
    for child in mp.active_children():
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)


def test_limits_say_which_setting_to_raise() -> None:
    assert SEARCH.run(lambda _: None, asleep, 0.0) == "done"
    with pytest.raises(SearchEnded, match="more than 300 MiB: raise SORDINO_SEARCH_MEMORY_MB"):
        SearchProcess(300, 60).run(lambda _: None, much_memory, 900)
    with pytest.raises(SearchEnded, match=r"within 0\.5 seconds: raise SORDINO_SEARCH_TIME_LIMIT_S"):
        SearchProcess(2048, 0.5).run(lambda _: None, asleep, 30.0)
    with pytest.raises(SearchEnded, match="RuntimeError"):
        SEARCH.run(lambda _: None, broken)
    with pytest.raises(SearchKilled, match="SIGKILL"):
        SEARCH.run(lambda told: kill(told) if told.fraction else None, asleep, 30.0)
    assert mp.active_children() == []


def closed(server: Any) -> str:
    """The path of a campaign of strings with a closed round."""
    campaign = campaign_of(server, "open")
    assert report_texts(server, campaign, TEXTS).status_code == 200
    server.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    return f"/v1/campaigns/{campaign['id']}"


class KilledSearch(SearchProcess):
    """A search whose process is killed as soon as it runs, the first `times` times."""

    def __init__(self, times: int) -> None:
        super().__init__(2048, 60)
        object.__setattr__(self, "left", times)

    left: int

    def run(self, progress: Any, work: Any, *given: Any) -> Any:
        if self.left == 0:
            return super().run(progress, work, *given)
        object.__setattr__(self, "left", self.left - 1)

        def watch(told: Progress) -> None:
            progress(told)
            kill(told)

        return super().run(watch, work, *given)


def searching(server: Any, search: SearchProcess) -> Worker:
    return replace(server.worker(), search=search)


def test_a_killed_search_begins_again_and_finds_the_same_bytes(running: Any) -> None:
    path = closed(running)
    killed = KilledSearch(1)
    worker = searching(running, killed)
    assert worker.step()
    with running.database.read("round") as session:
        (row,) = session.query(Round).all()
        assert (row.state, row.error, row.attempts) == ("closed", None, 1)
    assert worker.step()
    estimate = running.api.get(f"{path}/estimates").raise_for_status().content
    with running.database.write("again") as session:
        from sordino_server.models import Estimate

        session.query(Estimate).delete()
        session.query(Round).update({"state": "closed"})
    # Without a process of its own.
    running.work()
    assert running.api.get(f"{path}/estimates").raise_for_status().content == estimate


def test_a_search_that_is_killed_again_and_again_is_left_for_a_person(running: Any) -> None:
    closed(running)
    worker = searching(running, KilledSearch(9))
    for _ in range(3):
        assert worker.step()
    worker.step()
    with running.database.read("round") as session:
        (row,) = session.query(Round).all()
        assert (row.state, row.attempts) == ("closed", 3)
        assert "3 workers ended without a result" in row.error


def test_a_search_beyond_its_limit_fails_and_may_be_tried_again(running: Any) -> None:
    path = closed(running)
    assert searching(running, SearchProcess(2048, 0.001)).step()
    with running.database.read("round") as session:
        (row,) = session.query(Round).all()
        assert "SORDINO_SEARCH_TIME_LIMIT_S" in row.error
    # What is searched is kept: the log of a round that failed is never purged.
    running.api.post(f"{path}/rounds/0/retry").raise_for_status()
    assert searching(running, SEARCH).step()
    assert running.api.get(f"{path}/estimates").status_code == 200


def test_a_worker_that_stops_or_loses_its_lease_ends_the_search(running: Any) -> None:
    closed(running)
    worker = searching(running, SEARCH)

    class Stopping(SearchProcess):
        def run(self, progress: Any, work: Any, *given: Any) -> Any:
            worker.stop.set()
            return super().run(progress, asleep, 30.0)  # type: ignore[arg-type]

    assert replace(worker, search=Stopping(2048, 60)).step()
    with running.database.read("round") as session:
        (row,) = session.query(Round).all()
        assert (row.state, row.error, row.attempts, row.lease_owner) == ("closed", None, 0, None)

    class Taken(SearchProcess):
        def run(self, progress: Any, work: Any, *given: Any) -> Any:
            with running.database.write("another worker") as session:
                session.query(Round).update({"lease_owner": "another"})
            return super().run(progress, asleep, 30.0)  # type: ignore[arg-type]

    worker.stop.clear()
    begun = time.monotonic()
    assert replace(worker, search=Taken(2048, 60)).step()
    assert time.monotonic() - begun < 25
    with running.database.read("round") as session:
        (row,) = session.query(Round).all()
        assert (row.state, row.error, row.lease_owner) == ("closed", None, "another")
    assert mp.active_children() == []
