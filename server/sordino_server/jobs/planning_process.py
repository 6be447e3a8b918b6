"""Run one plan computation in a child process with memory and time limits.

A crash or OOM kill does not affect the worker. The process is a fork of one that has imported the planner and nothing
else, and lives for one plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.planning_request import PlanningRequest
from sordino_analysis.planning_options import PlanError
from sordino_analysis.progress import ProgressCallback
from sordino_server.jobs.preloaded import PRELOADED
from sordino_server.kit.logs import logger
from sordino_server.work.fork_server import preload
from sordino_server.work.forked_process import ForkDied, ForkedProcess, WorkFailed, WorkOverdue, WorkTooLarge
from sordino_server.work.work_call import Limits
from sordino_shared.errors import SordinoError

log = logger(__name__)

# Single steps between two looks at the clock take up to a minute at the largest dense workloads.
_GRACE_S = 120.0


class PlanningDied(SordinoError):
    """The process ended without an answer; the message says what to do about it."""


@dataclass(frozen=True)
class NoPlan:
    """Why there is no plan, in words for a person."""

    reason: str


@dataclass(frozen=True)
class PlanningProcess:
    """Computes plans one by one, each in a new process of at most `memory_mb` MiB; `time_limit_s` as in a request."""

    memory_mb: int
    time_limit_s: float

    def compute(self, request: PlanningRequest, progress: ProgressCallback) -> FinishedPlan:
        """The plan of the request. `progress` is called several times a second; an error from it ends the process.

        Raises PlanError where the planner refuses and PlanningDied where the process cannot go on.
        """
        try:
            answer = self._answer(request, progress)
        except WorkTooLarge as error:
            raise PlanError(
                f"the computation needs more than {self.memory_mb} MiB (SORDINO_PLANNING_MEMORY_MB): ask for fewer "
                "types or queries, or raise the limit"
            ) from error
        except WorkOverdue as error:
            raise PlanningDied(
                f"the computation did not end at its time limit ({self.time_limit_s:g} s at most, "
                "SORDINO_PLANNING_TIME_LIMIT_S): ask for a smaller workload"
            ) from error
        except WorkFailed as failed:
            log.error("bug in the planner", error=failed.name, trace=str(failed))
            raise PlanningDied(f"the computation failed ({failed.name}); the worker's log says where") from failed
        except ForkDied as died:
            raise PlanningDied(
                f"the process that computes the plan {died}, most likely out of memory: repeat the request, for a "
                "smaller workload or with effort quick, or give the machine more memory than "
                f"SORDINO_PLANNING_MEMORY_MB ({self.memory_mb})"
            ) from died
        if isinstance(answer, NoPlan):
            raise PlanError(answer.reason)
        return FinishedPlan.read(answer)

    def _answer(self, request: PlanningRequest, progress: ProgressCallback) -> bytes | NoPlan:
        limited = request.with_time_limit(self.time_limit_s)
        within_s = (limited.options.time_limit or self.time_limit_s) + _GRACE_S
        preload(PRELOADED)
        process = ForkedProcess.start(Limits(memory_mb=self.memory_mb))
        try:
            return process.follow(progress, _plan, limited, within_s=within_s)
        finally:
            process.end()


def _plan(request: PlanningRequest, progress: ProgressCallback) -> bytes | NoPlan:
    """The content of the finished plan, computed by the process; what the planner refuses is a result, too."""
    try:
        return request.compile(progress).content
    except SordinoError as error:
        return NoPlan(str(error))
