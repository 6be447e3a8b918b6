"""A workload and the options of its plan, as every mechanism sees them."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import Workload
from sordino_shared.guarantees import PureEpsilon, check_round_guarantee

# Labels, variances and answers are kept for every query.
MAX_QUERIES = 1 << 20


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """A mechanism for `workload`, good for the worst query (objective "max") or for their mean.

    With `users` in the options errors are predicted, and a biased mechanism is compared by mean squared error at that
    number only. `reduction` is the dimension ℓ to which the vector mechanism projects its factors.
    """

    workload: Workload
    options: PlanningOptions

    def __post_init__(self) -> None:
        check_round_guarantee(self.guarantee)
        check_number_of_queries(self.workload.queries)

    @property
    def guarantee(self) -> PureEpsilon:
        """What one report may spend."""
        return self.options.guarantee


def check_number_of_queries(queries: int) -> None:
    """Raise PlanError for more queries than are planned."""
    if queries > MAX_QUERIES:
        raise PlanError(
            f"the workload has {queries} queries, at most {MAX_QUERIES} can be planned: ask fewer, "
            "or prefix, whose differences are the ranges",
            queries,
        )
