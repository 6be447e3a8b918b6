"""Work of unknown size on what somebody sent or asks, one piece at a time, in a process within bounds.

Parsing 16 MiB of JSON, building the map of half a million bins, or decoding a round holds the interpreter for seconds
and leaves its memory in pieces; here both belong to a process of their own. The work is a function of a light module:
what it imports inside, the process that answers requests does not hold.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TypeVar, TypeVarTuple

import anyio.to_thread

from sordino_server.errors import ServerError
from sordino_server.work.forked_process import ForkDied, ForkedProcess, WorkOverdue, WorkTooLarge
from sordino_server.work.work_call import Limits
from sordino_shared.protocol import Problem

T = TypeVar("T")
Given = TypeVarTuple("Given")

# Of the wall's clock, for a machine that has other things to do: the work stands behind what answers requests.
_WITHIN_S = 120.0
# Requests that may wait for the one before them; later ones get 503.
_MOST_WAITING = 16


@dataclass(frozen=True, kw_only=True)
class WorkBounds:
    """Limits of a process, whether it lives on for the next piece of work, and how refusals speak of them.

    What one piece prepared serves the next one where the process lives on.
    """

    limits: Limits
    reuse: bool
    within_s: float = _WITHIN_S
    work: str
    advice: str

    @property
    def exceeded(self) -> str:
        """What is said of work that met the bounds by itself."""
        seconds = self.within_s if self.limits.cpu_s is None else self.limits.cpu_s
        return f"{self.work} takes more than {seconds:g} seconds or {self.limits.memory_mb} MiB: {self.advice}"


# Of what somebody sent. The largest workloads that can be planned are checked in a third of the processor time.
CHECKS = WorkBounds(
    limits=Limits(memory_mb=2048, cpu_s=20, niceness=10),
    reuse=False,
    work="checking it",
    advice="send a smaller workload",
)
# Of what analysts ask.
ANSWERS = WorkBounds(
    limits=Limits(memory_mb=2048, niceness=5), reuse=True, work="answering", advice="ask fewer questions at a time"
)


class WorkQueue:
    """Does one piece of work at a time, so that half of a small machine is left for answering."""

    def __init__(self, bounds: WorkBounds) -> None:
        self._bounds = bounds
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0
        self._lock = Lock()
        self._running: ForkedProcess | None = None
        self._closed = False

    async def run(self, work: Callable[[*Given], T], *given: *Given) -> T:
        """What `work` returns; function, arguments and result are pickled.

        Raises `ServerError` where it refuses (it raises `ServerError` or `InvalidValue`), or does not end within the
        bounds; WorkFailed where it meets an unexpected error.
        """
        if self._waiting >= _MOST_WAITING:
            raise ServerError(Problem.OVERLOADED, "too many requests wait for their turn; try again later")
        self._waiting += 1
        try:
            async with self._turn:
                return await anyio.to_thread.run_sync(partial(self._run, work, *given))
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End the work under way, whose request gets 503, and begin no other."""
        self._closed = True
        if (running := self._running) is not None:
            running.kill()
        with self._lock:
            self._end()

    def _run(self, work: Callable[[*Given], T], *given: *Given) -> T:
        with self._lock:
            try:
                return self._call(work, *given)
            except ForkDied as died:
                raise self._refusal(died) from died
            except WorkTooLarge as error:
                raise ServerError(Problem.INVALID_REQUEST, self._bounds.exceeded) from error
            except WorkOverdue as error:
                self._end()
                raise self._overdue() from error
            finally:
                if not self._bounds.reuse:
                    self._end()

    def _call(self, work: Callable[[*Given], T], *given: *Given) -> T:
        """A process that lived on is started again where it has ended since its last work."""
        if self._running is not None:
            try:
                return self._running.call(work, *given, within_s=self._bounds.within_s)
            except ForkDied:
                self._end()
        try:
            return self._start().call(work, *given, within_s=self._bounds.within_s)
        except ForkDied:
            self._end()
            raise

    def _start(self) -> ForkedProcess:
        if not self._closed:
            self._running = ForkedProcess.start(self._bounds.limits)
        # Asked again: `close` may have come before it could know this process.
        if self._closed or self._running is None:
            raise ServerError(Problem.OVERLOADED, "the server is shutting down; try again later")
        return self._running

    def _end(self) -> None:
        if self._running is not None:
            running, self._running = self._running, None
            running.end()

    def _refusal(self, died: ForkDied) -> ServerError:
        """It met its limits, unless somebody killed it: then the same work may well be done later."""
        if died.by_itself:
            return ServerError(Problem.INVALID_REQUEST, self._bounds.exceeded)
        return ServerError(Problem.OVERLOADED, f"the process for {self._bounds.work} {died}; try again later")

    def _overdue(self) -> ServerError:
        """Work whose processor time is limited is late only where the machine is busy."""
        if self._bounds.limits.cpu_s is None:
            return ServerError(Problem.INVALID_REQUEST, self._bounds.exceeded)
        detail = (
            f"{self._bounds.work} does not end within {self._bounds.within_s:g} seconds, since the server is busy; "
            "try again later"
        )
        return ServerError(Problem.OVERLOADED, detail)
