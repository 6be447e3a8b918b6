"""What a plan is asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sordino_analysis.mechanisms.version import planner_version
from sordino_analysis.questions.linear import Workload
from sordino_analysis.request_terms import Effort, Objective
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, check_round_guarantee
from sordino_shared.protocol import Digest

# Labels, variances and answers are kept for every query.
MAX_QUERIES = 1 << 20


class PlanError(InvalidValue):
    """No plan can be made as asked; the message says what to change."""


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """A mechanism for `workload` under `guarantee`, good for the worst query ("max") or for their mean.

    `mechanism` names the only candidate to consider. `users` is how many reports are expected: predicted errors need
    it, and a biased candidate is compared by mean squared error at that number only. `reduction` is the dimension ℓ to
    which the vector mechanism projects its factors. `effort` is how hard the kernel search tries, `time_limit` the
    seconds of planning, after which the best so far is taken. Without a limit the same request gives the same plan.
    """

    workload: Workload
    guarantee: PureEpsilon
    objective: Objective
    mechanism: str | None = None
    users: int | None = None
    seed: int = 0
    reduction: int | None = None
    effort: Effort = Effort.STANDARD
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_round_guarantee(self.guarantee)
        if self.objective not in ("max", "mean"):
            raise PlanError(f'the objective is "max" or "mean", not {self.objective!r}', self.objective)
        if self.workload.queries > MAX_QUERIES:
            raise PlanError(
                f"the workload has {self.workload.queries} queries, at most {MAX_QUERIES} can be planned: ask fewer, "
                "or prefix, whose differences are the ranges",
                self.workload.queries,
            )
        for name in ("users", "reduction"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise PlanError(f"{name} must be a whole number of at least 1, got {value!r}", value)
        if self.time_limit is not None and not 0 < self.time_limit < 1e6:
            raise PlanError(
                f"the time limit must be a positive number of seconds, got {self.time_limit!r}", self.time_limit
            )
        if not 0 <= self.seed < 2**63:
            raise PlanError(f"the seed must be from 0 to 2^63 − 1, got {self.seed}", self.seed)

    @property
    def digest(self) -> Digest:
        """Names all that the plan depends on, the planner's version included, but not how long it may take."""
        content = {
            "planner": planner_version(),
            "workload": self.workload.specification,
            "epsilon": self.guarantee.nano,
            "objective": self.objective,
            "mechanism": self.mechanism,
            "users": self.users,
            "seed": self.seed,
            "reduction": self.reduction,
            "effort": self.effort,
        }
        return Digest.of(json.dumps(content, sort_keys=True, allow_nan=False).encode())
