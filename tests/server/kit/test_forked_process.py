"""Whenever a forked process or the one that forks is killed, the one that waits for it hears what happened."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import forkserver

import pytest

from sordino_server.errors import ServerError
from sordino_server.kit.bounded_process import PRELOADED, BoundedWork
from sordino_server.kit.forked_process import ForkDied, ForkedProcess
from sordino_server.kit.standing_process import StandingProcess
from sordino_shared.protocol import Problem
from tests.patience import PATIENCE_S
from tests.server.kit import forked_work


@contextmanager
def started(work: Callable[..., None], *given: object) -> Iterator[ForkedProcess]:
    process = ForkedProcess.start(PRELOADED, work, *given)
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
        assert asyncio.run(BoundedWork().run(os.getpid)) != os.getpid()


def test_a_message_that_came_by_half_is_a_death() -> None:
    with started(forked_work.is_killed_while_it_answers) as process:
        assert process.poll(PATIENCE_S)
        with pytest.raises(ForkDied, match="SIGKILL") as died:
            process.receive()
        assert not died.value.by_itself
    process.kill()


def test_asking_a_dead_process_tells_of_its_death() -> None:
    with started(forked_work.sleeps, PATIENCE_S) as process:
        assert process.receive() != os.getpid()
        process.kill()
        for ask in (process.receive, partial(process.send, "asked")):
            with pytest.raises(ForkDied, match="SIGKILL"):
                ask()


def test_threads_hear_the_exit_codes_of_their_own_processes() -> None:
    """Without a lock 6 % of 900 were told as 255, since each start looks at the processes of all threads."""

    def how_it_ends(code: int) -> str:
        with started(forked_work.exits, code) as process:
            assert process.receive() == code
            with pytest.raises(ForkDied) as died:
                process.receive()
            return str(died.value)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(3) as pool:
            told = list(pool.map(how_it_ends, range(1, 61)))
    finally:
        sys.setswitchinterval(before)
    assert told == [f"died (exit code {code})" for code in range(1, 61)]


@pytest.mark.parametrize(("end", "problem"), [("is_killed", Problem.OVERLOADED), ("crashes", Problem.INVALID_REQUEST)])
def test_work_that_somebody_kills_is_not_called_too_large(end: str, problem: Problem) -> None:
    """It may well be done later; what dies by itself met its limits."""
    standing = StandingProcess()
    try:
        for asked in (BoundedWork().run(getattr(forked_work, end)), standing.run(f"{forked_work.__name__}:{end}")):
            with pytest.raises(ServerError) as refused:
                asyncio.run(asked)
            assert refused.value.problem is problem, refused.value.detail
    finally:
        standing.close()


@pytest.mark.parametrize("of", [BoundedWork, StandingProcess])
def test_a_server_that_stops_waits_for_no_work(of: Callable[[], BoundedWork | StandingProcess]) -> None:
    asked = of()

    def outcome(seconds: float) -> object:
        return asyncio.run(
            asked.run(time.sleep, seconds) if isinstance(asked, BoundedWork) else asked.run("time:sleep", seconds)
        )

    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(outcome, 2 * PATIENCE_S)
        deadline = time.monotonic() + PATIENCE_S
        while asked._running is None and time.monotonic() < deadline:
            time.sleep(0.01)
        asked.close()
        for refused in (under_way, pool.submit(outcome, 0)):
            with pytest.raises(ServerError, match="try again later") as said:
                refused.result(PATIENCE_S)
            assert said.value.problem is Problem.OVERLOADED
