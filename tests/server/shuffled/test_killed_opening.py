"""kill -9 of a worker before the statements and commits of an opening: every report counts once, whatever dies."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from sordino_analysis.archive.process_pool import ProcessDied
from sordino_server.kit.db import Database
from sordino_server.shuffled import opened_pages
from sordino_server.shuffled.opened_pages import OpenedPage
from tests.killed_before import die, killed_before
from tests.server.shuffled.collected import BOTH_ENGINES, USERS, Shuffled

# No opening of four pages and no estimate takes so many statements and commits.
MOST_POINTS = 400
# Pages in the middle of which a worker dies beside the database, with reports opened and nothing stored.
BESIDE = (pytest.param("before a page", marks=pytest.mark.slow), "after a page")
# The statement that the first child does not reach, by how many more the next one gets further, and the fewest kills.
PHASES = [(0, 13, 4), *(pytest.param(start, 4, 5, marks=pytest.mark.slow) for start in range(4))]


def work_in_a_child(shuffled: Shuffled, point: int | str) -> bool:
    """Let a process do the work there is; whether it lived."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1] == 0
    try:
        url = shuffled.home.database.url.render_as_string(hide_password=False)
        worker = replace(shuffled.home, database=Database(url)).worker()
        if isinstance(point, int):
            with killed_before(point):
                while worker.step():
                    pass
        else:
            _die_beside(point)
            while worker.step():
                pass
    finally:
        os._exit(0)


def _die_beside(point: str) -> None:
    opened, second = opened_pages.opened_page, iter((False, True))

    def dying(*given: Any) -> OpenedPage | None:
        now = next(second, True)
        if now and point == "before a page":
            die()
        found = opened(*given)
        if now and point == "after a page":
            die()
        return found

    opened_pages.opened_page = dying


def go_on(shuffled: Shuffled) -> None:
    """The lease of the dead ends; after three of them an operator has to say that the round is tried again."""
    home = shuffled.home
    home.clock.advance(home.settings.lease_s + 1)
    home.client(home.admin_key).post(f"{shuffled.path}/rounds/0/retry")


def check_once(shuffled: Shuffled, garbage: int) -> None:
    """Another worker goes on; all is counted once and the key is gone."""
    home = shuffled.home
    home.clock.advance(home.settings.lease_s + 1)
    home.work()
    (row,) = shuffled.status()["rounds"]
    assert (row["state"], row["error"], row["batch"]["state"]) == ("estimated", None, "counted")
    assert (row["users"], row["batch"]["refused"]) == (USERS, garbage)
    assert shuffled.status()["refusals"] == {"unopenable": garbage}
    estimate = home.api.get(f"{shuffled.path}/rounds/0/estimates").raise_for_status().json()
    assert estimate["terms"]["users"] == USERS
    assert not (shuffled.folder / shuffled.campaign["id"] / "round-0.key").exists()


def released(shuffled: Shuffled) -> int:
    """A batch with garbage on every page; how much."""
    width = len(shuffled.sealed([0])[0])
    garbage = [bytes([number]) * width for number in range(40)]
    shuffled.release([*shuffled.sealed([0, 1, 2] * (USERS // 3)), *garbage, *shuffled.blanket()])
    shuffled.home.clock.advance(3600)
    return len(garbage)


@pytest.mark.parametrize("point", BESIDE)
def test_a_worker_that_dies_beside_the_database_counts_nothing_twice(shuffled: Shuffled, point: str) -> None:
    garbage = released(shuffled)
    assert not work_in_a_child(shuffled, point)
    check_once(shuffled, garbage)


@BOTH_ENGINES
@pytest.mark.parametrize(("start", "stride", "fewest"), PHASES)
def test_a_worker_that_dies_before_any_statement_counts_each_report_once(
    shuffled: Shuffled, start: int, stride: int, fewest: int
) -> None:
    """One child after another dies some statements later than the one before, until one lives; the long run has every
    statement.
    """
    garbage = released(shuffled)
    kills = 0
    for _ in range(MOST_POINTS):
        lived = work_in_a_child(shuffled, 6 + start + stride * kills)
        if lived and shuffled.status()["rounds"][0]["state"] == "estimated":
            break
        kills += not lived
        go_on(shuffled)
    assert kills >= fewest
    check_once(shuffled, garbage)


def test_several_processes_open_a_large_batch_and_one_of_them_dies(
    shuffled: Shuffled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second page's process is killed: this one opens what is left, and each report counts once."""
    monkeypatch.setattr(opened_pages, "_LEAST_POOLED_PAGES", 2)
    asked, found = [], opened_pages.imap_unordered

    def dying(*given: Any) -> Any:
        asked.append(given)
        pages = found(*given)
        yield next(pages)
        pages.close()
        raise ProcessDied("killed by the test")

    monkeypatch.setattr(opened_pages, "imap_unordered", dying)
    garbage = released(shuffled)
    home = replace(shuffled.home, settings=shuffled.home.settings.model_copy(update={"aggregation_processes": 2}))
    home.work()
    assert [processes for _, _, processes in asked] == [2]
    check_once(shuffled, garbage)
