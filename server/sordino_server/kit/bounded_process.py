"""Work of unknown size on what somebody sent, in a process that lives for it, within bounds of memory and time.

Parsing 16 MiB of JSON, or building the map of half a million bins, holds the interpreter for seconds and leaves its
memory in pieces; here both are the process's own and go with it. It is a fork of one that has imported `PRELOADED`.
"""

from __future__ import annotations

import asyncio
import os
import resource
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import anyio.to_thread

from sordino_server.errors import ServerError
from sordino_server.kit.fork_server import fork_context
from sordino_server.kit.forked_process import ForkDied, ForkedProcess
from sordino_shared.errors import InvalidValue, SordinoError
from sordino_shared.protocol import Problem

T = TypeVar("T")

# Of all work that is done in forks, which imports half a second's worth of modules each time otherwise. The planner is
# named by its requests, since `sordino_analysis.requests` imports them when they are asked for.
PRELOADED = (
    "sordino_server.workloads.checking",
    "sordino_server.plans.checking",
    "sordino_server.releases.checking",
    "sordino_server.datasets.checking",
    "sordino_server.answers.computing",
    "sordino_server.series.computing",
    "sordino_server.plans.quick_summary",
    "sordino_analysis.planning.linear_request",
    "sordino_analysis.pairwise.pairwise_request",
    "sordino_analysis.price_of_locality",
    "sordino_analysis.curator.plan",
)
# Processor time; the largest workloads that can be planned are checked in a third of it.
CPU_S = 20
MEMORY_MB = 2048
# Of the wall's clock, for a machine that has other things to do: the work stands behind what answers requests.
_WITHIN_S = 120.0
_NICENESS = 10
# Requests that may wait for the one before them; later ones get 503.
MAX_WAITING = 16


@dataclass(frozen=True)
class RefusedWork:
    """Why the work has no result, as it travels: the parts of a `ServerError`."""

    problem: Problem
    detail: str
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FailedWork:
    """An error that nobody expected, as text."""

    trace: str


class ProcessFailed(SordinoError):
    """The work met an error that nobody expected."""


class BoundedWork:
    """Does one piece of work at a time, so that half of a small machine is left for answering."""

    def __init__(self, cpu_s: int = CPU_S) -> None:
        self._cpu_s = cpu_s
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0
        self._running: ForkedProcess | None = None
        self._closed = False

    def start(self) -> None:
        """Begin to import what the work needs; it takes seconds, and the first request should not wait for it."""
        fork_context(PRELOADED)
        forkserver.ensure_running()

    async def run(self, work: Callable[..., T], *given: object) -> T:
        """What `work` returns; raises `ServerError` where it refuses or does not end within the bounds.

        `work` and what it is given are pickled. It refuses by raising `ServerError` or `InvalidValue`.
        """
        if self._waiting >= MAX_WAITING:
            raise ServerError(Problem.OVERLOADED, "too many workloads wait to be checked; try again later")
        self._waiting += 1
        try:
            async with self._turn:
                return await anyio.to_thread.run_sync(partial(self._run, work, given))
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End the work that is under way, whose request gets 503, and begin no other."""
        self._closed = True
        if (running := self._running) is not None:
            running.kill()

    def _run(self, work: Callable[..., T], given: tuple[object, ...]) -> T:
        try:
            outcome = self._outcome(work, given)
        except ForkDied as died:
            raise self._refusal(died) from died
        if isinstance(outcome, RefusedWork):
            raise ServerError(outcome.problem, outcome.detail, **outcome.extra)
        if isinstance(outcome, FailedWork):
            raise ProcessFailed(outcome.trace)
        result: T = outcome[0]
        return result

    def _outcome(self, work: Callable[..., object], given: tuple[object, ...]) -> Any:
        if self._closed:
            raise ServerError(Problem.OVERLOADED, "the server is shutting down; try again later")
        process = ForkedProcess.start(PRELOADED, _work, self._cpu_s, work, given)
        try:
            self._running = process
            if self._closed:
                process.kill()
            if process.poll(_WITHIN_S):
                return process.receive()
        finally:
            self._running = None
            process.end()
        detail = f"checking it does not end within {_WITHIN_S:g} seconds, since the server is busy; try again later"
        raise ServerError(Problem.OVERLOADED, detail)

    def _refusal(self, died: ForkDied) -> ServerError:
        """It met its limits, unless somebody killed it: then the same work may well be done later."""
        if died.by_itself:
            detail = f"checking it takes more than {self._cpu_s} seconds or {MEMORY_MB} MiB: send a smaller workload"
            return ServerError(Problem.INVALID_REQUEST, detail)
        return ServerError(Problem.OVERLOADED, f"the process that checks it {died}; try again later")


def _work(pipe: Connection, cpu_s: int, work: Callable[..., object], given: tuple[object, ...]) -> None:
    os.nice(_NICENESS)
    # The first limit ends it with a signal that nobody else sends, and without the file of its memory.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Not the address space, of which libraries reserve more than they use.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MB << 20, MEMORY_MB << 20))
    try:
        outcome: object = (work(*given),)
    except ServerError as error:
        outcome = RefusedWork(error.problem, error.detail, error.extra)
    except InvalidValue as error:
        outcome = RefusedWork(Problem.INVALID_REQUEST, str(error))
    except MemoryError:
        outcome = RefusedWork(
            Problem.INVALID_REQUEST, f"checking it takes more than {MEMORY_MB} MiB: send a smaller workload"
        )
    except Exception:
        outcome = FailedWork(traceback.format_exc())
    pipe.send(outcome)
