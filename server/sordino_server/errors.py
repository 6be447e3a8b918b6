"""Errors of the server: each has its problem type, so that one place turns them into responses.

SordinoError
├── ServerError                a problem shown to the client; endpoints and services raise it as it is
│   ├── DatabaseError          kit.database_errors draws its tree
│   ├── RoundNotFound          rounds: no such campaign or round
│   ├── RoundNotOpen           reports: too early or too late
│   ├── PeriodNotOpen          reports: a period of a series, early, late or paused
│   ├── PlanMismatch           reports: made with another device part
│   ├── Overloaded             reports: more is waiting than may be held
│   ├── PopulationBudgetExceeded   populations: a cap does not allow what a campaign requires
│   └── DatasetBudgetExceeded      datasets: a cap does not allow what a release requires
├── InvalidValue               also of a request's content: answered as `invalid-request`
│   ├── WorkloadError, TooLargeForDense, PlanError, FactorizationError, KernelError     design
│   └── PairwiseError          protocols: a protocol cannot go on, or its reports allow no answer
├── MechanismFailed            design: one mechanism could not be worked out, others may be
├── EstimationError            estimation: the reports allow no estimate
├── AggregateMismatch          aggregates: log and shares disagree
├── LogPurged                  aggregates: the log was given up, only its sums are there
├── LeaseLost                  kit.leases: another worker has the row
├── HomeUnreachable, HomeRefused   collecting: the home answers no collector now, or not what it was sent
├── CannotOpen                 kit.sealing: sealed with another key, or changed
├── ReleaseFailed              releases: the measurement failed after its charge
└── RemoteProblem, StillWaiting, NotWritable, DevicesFailed, ColumnError, ServerFailed  cli
"""

from __future__ import annotations

from typing import Any, TypeVar

from sordino_shared.errors import SordinoError
from sordino_shared.protocol import Problem

Found = TypeVar("Found")


class ServerError(SordinoError):
    """A problem whose detail may be shown to the client; `extra` are further members of its document."""

    def __init__(self, problem: Problem, detail: str, **extra: Any) -> None:
        super().__init__(detail)
        self.problem = problem
        self.code = problem.slug
        self.detail = detail
        self.extra = extra

    @property
    def counted_as(self) -> str:
        """The reason under which refused reports are counted."""
        return self.problem.slug


def found(row: Found | None, detail: str) -> Found:
    """What was looked up; raises `not-found` with this detail where there is none."""
    if row is None:
        raise ServerError(Problem.NOT_FOUND, detail)
    return row
