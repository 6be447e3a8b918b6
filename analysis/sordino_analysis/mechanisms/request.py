"""A workload and the options of its plan, as every mechanism sees them."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_analysis.documents.queries import RuleQueries
from sordino_analysis.evaluation.grids.listing import answered_by_grids
from sordino_analysis.evaluation.grids.plane_prefixes import plane_of
from sordino_analysis.mechanisms.grid_sizes import too_many_types
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import Workload
from sordino_shared.guarantees import PureEpsilon, check_round_guarantee
from sordino_shared.randomizers.base import MAX_DEVICE_TYPES

# Labels, variances and answers are kept for every query.
MAX_QUERIES = 1 << 20
# All intervals of one attribute need no list.
MAX_INTERVALS = 1 << 32
NOT_ALLOWED = "biased by design, and the class of rules is asked without bias: write `bias: allowed`"


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
        reason = too_many_types(self.workload) if self.workload.size > MAX_DEVICE_TYPES else None
        if reason is not None:
            # Nor does any other mechanism take them.
            raise PlanError(reason, self.workload)
        # Of two ordered attributes there are no more prefix sums than types, and few enough of these are planned.
        if plane_of(self.workload.operator) is not None or not answered_by_grids(self.workload):
            check_number_of_queries(self.workload.queries, MAX_QUERIES)

    @property
    def allows_bias(self) -> bool:
        """Whether biased answers may be published: those about classes of rules only where that was said."""
        queries = self.workload.published
        return queries.bias_allowed if isinstance(queries, RuleQueries) else True

    @property
    def reason_against_bias(self) -> str | None:
        """Why no mechanism that is biased by design is compared, or None."""
        if not self.allows_bias:
            return NOT_ALLOWED
        if self.options.users is None:
            return "biased by design: it is compared by mean squared error at a stated number of users only"
        return None

    @property
    def guarantee(self) -> PureEpsilon:
        """What one report may spend."""
        return self.options.guarantee


def check_number_of_queries(queries: int, most: int = MAX_INTERVALS) -> None:
    """Raise PlanError for more queries than are planned, whatever kind they are unless `most` says so."""
    if queries > most:
        raise PlanError(
            f"the workload has {queries} queries, at most {most} can be planned: ask fewer, "
            "or prefix, whose differences are the ranges",
            queries,
        )
