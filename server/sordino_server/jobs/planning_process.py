"""Run one plan computation in a child process with memory and time limits.

A crash or OOM kill does not affect the worker.

The process is a fork of a server process that has imported the planner and nothing else, and lives for one plan.
Progress and result go through a pipe; the child exits on EOF (worker dead or cancelled).
"""

from __future__ import annotations

import os
import resource
import signal
import threading
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.planning_request import PlanningRequest
from sordino_analysis.planning_options import PlanError
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_server.kit.forked_process import ForkDied, ForkedProcess
from sordino_server.kit.logs import logger
from sordino_shared.errors import SordinoError

log = logger(__name__)

_PRELOADED = (
    "sordino_server.jobs.planning_process",
    "sordino_analysis.planning.linear_request",
    "sordino_analysis.pairwise.pairwise_request",
)
# How often `progress` is called while nothing is new, so that it can raise and stop the computation.
_HEARTBEAT_S = 0.25
# Single steps between two looks at the clock take up to a minute at the largest dense workloads.
_GRACE_S = 120.0
_MIB = 1 << 20


class PlanningDied(SordinoError):
    """The process ended without an answer; the message says what to do about it."""


@dataclass(frozen=True)
class NoPlan:
    """Why there is no plan, in words for a person."""

    reason: str


@dataclass(frozen=True)
class PlannerBug:
    """An unexpected error as text: its own class may not be importable elsewhere."""

    name: str
    trace: str


@dataclass(frozen=True)
class PlanningProcess:
    """Computes plans one by one, each in a new process of at most `memory_mb` MiB; `time_limit_s` as in a request."""

    memory_mb: int
    time_limit_s: float

    def compute(self, request: PlanningRequest, progress: ProgressCallback) -> FinishedPlan:
        """The plan of the request. `progress` is called several times a second; an error from it ends the process.

        Raises PlanError where the planner refuses and PlanningDied where the process cannot go on.
        """
        limited = request.with_time_limit(self.time_limit_s)
        limit = limited.options.time_limit or self.time_limit_s
        try:
            process = ForkedProcess.start(_PRELOADED, _plan, self.memory_mb, limited)
            try:
                answer = self._answer(process, progress, monotonic() + limit + _GRACE_S)
            finally:
                process.end()
        except ForkDied as died:
            raise PlanningDied(
                f"the process that computes the plan {died}, most likely out of memory: repeat the request, for a "
                "smaller workload or with effort quick, or give the machine more memory than "
                f"SORDINO_PLANNING_MEMORY_MB ({self.memory_mb})"
            ) from died
        return FinishedPlan.read(answer)

    def _answer(self, process: ForkedProcess, progress: ProgressCallback, latest: float) -> bytes:
        message: Any = Progress(0.0, "starting")
        while isinstance(message, Progress):
            progress(message)
            if monotonic() > latest:
                raise PlanningDied(
                    f"the computation did not end at its time limit ({self.time_limit_s:g} s at most, "
                    "SORDINO_PLANNING_TIME_LIMIT_S): ask for a smaller workload"
                )
            if process.poll(_HEARTBEAT_S):
                message = process.receive()
        if isinstance(message, NoPlan):
            raise PlanError(message.reason)
        if isinstance(message, PlannerBug):
            log.error("bug in the planner", error=message.name, trace=message.trace)
            raise PlanningDied(f"the computation failed ({message.name}); the worker's log says where")
        answer: bytes = message
        return answer


def _plan(pipe: Connection, memory_mb: int, request: PlanningRequest) -> None:
    """The process: everything that can be said about its end is said through the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    # Not the address space, of which solvers reserve more than they use.
    resource.setrlimit(resource.RLIMIT_DATA, (memory_mb * _MIB, memory_mb * _MIB))
    try:
        answer: object = request.compile(pipe.send).content
    except SordinoError as error:
        answer = NoPlan(str(error))
    except MemoryError:
        answer = NoPlan(
            f"the computation needs more than {memory_mb} MiB (SORDINO_PLANNING_MEMORY_MB): ask for fewer types or "
            "queries, or raise the limit"
        )
    except Exception as error:
        answer = PlannerBug(type(error).__name__, traceback.format_exc())
    pipe.send(answer)


def _end_with(pipe: Connection) -> None:
    """Exit on EOF; the worker never writes."""
    try:
        pipe.recv()
    except (EOFError, OSError):
        os._exit(1)
