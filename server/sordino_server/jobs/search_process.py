"""Search the reports of a round in a child process with memory and time limits.

A search that runs out of memory does not affect the worker, and one that is killed begins again: what it finds is a
function of the reports, whatever their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, TypeVarTuple

from sordino_analysis.progress import ProgressCallback
from sordino_server.jobs.preloaded import PRELOADED
from sordino_server.kit.logs import logger
from sordino_server.work.fork_server import preload
from sordino_server.work.forked_process import ForkDied, ForkedProcess, WorkFailed, WorkOverdue, WorkTooLarge
from sordino_server.work.work_call import Limits
from sordino_shared.errors import SordinoError

log = logger(__name__)

T = TypeVar("T")
Given = TypeVarTuple("Given")


class SearchEnded(SordinoError):
    """The search met a limit or a bug; the message says what to do about it."""


class SearchKilled(SordinoError):
    """Somebody killed the process, such as a system that is out of memory: the search may begin again."""


@dataclass(frozen=True)
class SearchProcess:
    """Does searches one by one, each in a new process of at most `memory_mb` MiB and `time_limit_s` seconds."""

    memory_mb: int
    time_limit_s: float

    def run(self, progress: ProgressCallback, work: Callable[[*Given, ProgressCallback], T], *given: *Given) -> T:
        """What `work` returns. `progress` is called several times a second; an error from it ends the process.

        Raises SearchEnded and SearchKilled, and ServerError where the work does.
        """
        preload(PRELOADED)
        process = ForkedProcess.start(Limits(memory_mb=self.memory_mb))
        try:
            return process.follow(progress, work, *given, within_s=self.time_limit_s)
        except WorkTooLarge as error:
            raise SearchEnded(
                f"the search needs more than {self.memory_mb} MiB: raise SORDINO_SEARCH_MEMORY_MB, and try it again"
            ) from error
        except WorkOverdue as error:
            raise SearchEnded(
                f"the search did not end within {self.time_limit_s:g} seconds: raise SORDINO_SEARCH_TIME_LIMIT_S, and "
                "try it again"
            ) from error
        except WorkFailed as failed:
            log.error("bug in the search", error=failed.name, trace=str(failed))
            raise SearchEnded(f"the search failed ({failed.name}); the worker's log says where") from failed
        except ForkDied as died:
            raise SearchKilled(f"the process that searches the reports {died}") from died
        finally:
            process.end()
