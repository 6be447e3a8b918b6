"""Whenever a forked process or the one that forks is killed, the one that waits for it hears what happened."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path

import pytest

from sordino_analysis.progress import Progress
from sordino_server.errors import ServerError
from sordino_server.work.forked_process import ForkDied, ForkedProcess, WorkFailed, WorkOverdue, WorkTooLarge
from sordino_server.work.work_call import Limits
from sordino_server.work.work_queue import ANSWERS, CHECKS, WorkBounds, WorkQueue
from sordino_shared.protocol import Problem
from tests.patience import PATIENCE_S
from tests.server.work import forked_work

LIMITS = Limits(memory_mb=2048)


@contextmanager
def started(limits: Limits = LIMITS) -> Iterator[ForkedProcess]:
    process = ForkedProcess.start(limits)
    try:
        yield process
    finally:
        process.end()


@contextmanager
def fork_server_killed_while_it_is_asked() -> Iterator[None]:
    """It is stopped, so that a start waits for it until it is killed."""
    forkserver.ensure_running()
    process: int = forkserver._forkserver._forkserver_pid
    os.kill(process, signal.SIGSTOP)
    killer = threading.Timer(0.2, os.kill, (process, signal.SIGKILL))
    killer.start()
    try:
        yield
    finally:
        killer.join()


def test_a_fork_server_that_dies_is_started_again() -> None:
    with fork_server_killed_while_it_is_asked():
        assert asyncio.run(WorkQueue(CHECKS).run(os.getpid)) != os.getpid()


def test_a_message_that_came_by_half_is_a_death() -> None:
    with started() as process, pytest.raises(ForkDied, match="SIGKILL") as died:
        process.follow(lambda told: None, forked_work.is_killed_while_it_answers, within_s=PATIENCE_S)
    assert not died.value.by_itself
    process.kill()


def test_asking_a_dead_process_tells_of_its_death() -> None:
    def kill(told: Progress) -> None:
        if told.stage == "asleep":
            process.kill()

    with started() as process:
        with pytest.raises(ForkDied, match="SIGKILL"):
            process.follow(kill, forked_work.sleeps, PATIENCE_S, within_s=2 * PATIENCE_S)
        with pytest.raises(ForkDied, match="SIGKILL"):
            process.call(os.getpid, within_s=PATIENCE_S)


def test_threads_hear_the_exit_codes_of_their_own_processes() -> None:
    """Without a lock 6 % of 900 were told as 255, since each start looks at the processes of all threads."""

    def how_it_ends(code: int) -> str:
        with started() as process, pytest.raises(ForkDied) as died:
            process.call(os._exit, code, within_s=PATIENCE_S)
        return str(died.value)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(3) as pool:
            told = list(pool.map(how_it_ends, range(1, 61)))
    finally:
        sys.setswitchinterval(before)
    assert told == [f"died (exit code {code})" for code in range(1, 61)]


def test_one_process_does_one_work_after_the_other() -> None:
    """What fails leaves it ready for the next, also work that cannot be read there."""
    with started() as process:
        first = process.call(os.getpid, within_s=PATIENCE_S)
        with pytest.raises(WorkFailed, match="ZeroDivisionError") as failed:
            process.call(divmod, 1, 0, within_s=PATIENCE_S)
        assert failed.value.name == "ZeroDivisionError"
        with pytest.raises(WorkTooLarge):
            process.call(bytearray, 8 << 30, within_s=PATIENCE_S)
        with pytest.raises(WorkFailed, match="no number"):
            process.call(repr, forked_work.Unpicklable(), within_s=PATIENCE_S)
        told: list[Progress] = []
        assert process.follow(told.append, forked_work.sleeps, 0.0, within_s=PATIENCE_S) == first != os.getpid()
        assert [each.fraction for each in told] == [0.0, 0.5]


def test_work_that_does_not_end_in_time_is_overdue_with_and_without_progress() -> None:
    with started() as process, pytest.raises(WorkOverdue, match=r"within 0\.1 seconds"):
        process.call(time.sleep, PATIENCE_S, within_s=0.1)
    with started() as process, pytest.raises(WorkOverdue):
        process.follow(lambda told: None, forked_work.sleeps, PATIENCE_S, within_s=0.1)


def test_a_process_whose_caller_goes_away_ends_in_the_middle_of_its_work() -> None:
    process = ForkedProcess.start(LIMITS)
    number = process.call(os.getpid, within_s=PATIENCE_S)
    with pytest.raises(WorkOverdue):
        process.call(time.sleep, 4 * PATIENCE_S, within_s=0.1)
    process._pipe.close()
    deadline = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{number}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{number}").exists()
    process.end()


@pytest.mark.parametrize("bounds", [CHECKS, ANSWERS], ids=["checks", "answers"])
@pytest.mark.parametrize(
    ("end", "problem"),
    [(forked_work.is_killed, Problem.OVERLOADED), (forked_work.crashes, Problem.INVALID_REQUEST)],
    ids=["killed", "crashed"],
)
def test_work_that_somebody_kills_is_not_called_too_large(bounds: WorkBounds, end: object, problem: Problem) -> None:
    """It may well be done later; what dies by itself met its limits."""
    queue = WorkQueue(bounds)
    try:
        with pytest.raises(ServerError) as refused:
            asyncio.run(queue.run(end))  # type: ignore[arg-type]
        assert refused.value.problem is problem, refused.value.detail
    finally:
        queue.close()


def test_only_a_process_for_answers_lives_on_and_is_started_again_where_it_ended() -> None:
    checks, answers = WorkQueue(CHECKS), WorkQueue(ANSWERS)

    async def ids() -> tuple[list[int], list[int]]:
        both: tuple[list[int], list[int]] = ([], [])
        for _ in range(2):
            for queue, numbers in zip((checks, answers), both, strict=True):
                numbers.append(await queue.run(os.getpid))
        return both

    try:
        checked, answered = asyncio.run(ids())
        assert checked[0] != checked[1]
        assert answered[0] == answered[1]
        os.kill(answered[0], signal.SIGKILL)
        assert asyncio.run(answers.run(os.getpid)) != answered[0]
    finally:
        answers.close()


def test_late_work_is_called_busy_where_its_processor_time_is_limited() -> None:
    for bounds, problem in ((CHECKS, Problem.OVERLOADED), (ANSWERS, Problem.INVALID_REQUEST)):
        queue = WorkQueue(replace(bounds, within_s=0.1))
        with pytest.raises(ServerError, match=r"0\.1 seconds") as refused:
            asyncio.run(queue.run(time.sleep, PATIENCE_S))
        assert refused.value.problem is problem
        queue.close()


@pytest.mark.parametrize("bounds", [CHECKS, ANSWERS], ids=["checks", "answers"])
def test_a_server_that_stops_waits_for_no_work(bounds: WorkBounds) -> None:
    queue = WorkQueue(bounds)

    def outcome(seconds: float) -> None:
        asyncio.run(queue.run(time.sleep, seconds))

    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(outcome, 2 * PATIENCE_S)
        deadline = time.monotonic() + PATIENCE_S
        while queue._running is None and time.monotonic() < deadline:
            time.sleep(0.01)
        queue.close()
        for refused in (under_way, pool.submit(outcome, 0)):
            with pytest.raises(ServerError, match="try again later") as said:
                refused.result(PATIENCE_S)
            assert said.value.problem is Problem.OVERLOADED
