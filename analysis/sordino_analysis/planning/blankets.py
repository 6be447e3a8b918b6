"""The local ε, the mechanism and the blanket that take the fewest users for an error and an (ε, δ) at the collector.

A larger ε₀ on devices lowers the error and needs a larger blanket, whose reports add noise of their own. So mechanisms
are compared by users, not by variance: the order differs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal

from sordino_analysis.guarantees.approximate import Approximate
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.mechanisms.registry import MECHANISMS
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.planning.comparison import Comparison
from sordino_analysis.planning.measures import UsersBehindBlanket
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.progress import ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.request_terms import Objective
from sordino_shared.guarantees import NANO

# Built in a fraction of a second, up to some types, beyond them, or for any number; a search may find better ones.
_FEW_TYPES = 256
_FOR_FEW = {"hyperplane_codebook", "haar", "fourier"}
_FOR_MANY = {"shifted_grids"}
_FOR_ANY = {"randomized_response", "subset_selection", "subset_mixture", "coarsened_histogram"}
# ε₀ is a multiple of this, up to the largest that is allowed.
_STEP = 0.25


@dataclass(frozen=True, kw_only=True)
class BlanketChoice:
    """What devices spend and send, how many random reports a shuffler adds, and the users that are then enough."""

    local_epsilon: float
    mechanism: str
    blanket: int
    users: int


def closed_forms(types: int) -> set[str]:
    """Mechanisms that need no search for so many types."""
    return _FOR_ANY | (_FOR_FEW if types <= _FEW_TYPES else _FOR_MANY)


def choose_blanket(
    workload: Workload,
    objective: Objective,
    bound: Approximate,
    target_error: float,
    *,
    largest_epsilon: float,
    mechanisms: Collection[str],
) -> BlanketChoice:
    """The choice of the fewest users with a root mean squared error of `target_error` and (ε, δ) at the collector.

    ε₀ goes down from `largest_epsilon` in steps of a quarter for as long as that takes fewer users, and stays above ε.
    Raises PlanError, with every reason, where no mechanism of these names can be hidden.
    """
    epsilon = bound.nano_epsilon / NANO
    best, reasons = None, list[str]()
    for local in _local_epsilons(epsilon, largest_epsilon):
        options = PlanningOptions.of(
            epsilon=local,
            objective=objective,
            target_error=target_error,
            collector={"epsilon": str(Decimal(bound.nano_epsilon).scaleb(-9)), "delta": repr(float(bound.delta))},
        )
        least = _best_of(PlanRequest(workload, options), mechanisms, reasons)
        if best is not None and (least is None or least.users >= best.users):
            return best
        best = least if best is None else least or best
    if best is None:
        raise PlanError(f"no mechanism can be hidden by a blanket:{''.join(reasons)}", bound)
    return best


def _local_epsilons(epsilon: float, largest: float) -> Iterator[float]:
    """From the largest ε₀ downwards, all above ε."""
    local = largest
    while local > epsilon:
        yield local
        local -= _STEP


def _best_of(request: PlanRequest, mechanisms: Collection[str], reasons: list[str]) -> BlanketChoice | None:
    """The fewest users at the request's ε, None where no mechanism can be taken; why not is added to `reasons`."""
    work, comparison = SharedWork(request, Deadline(None, lambda: False)), Comparison(request)
    for mechanism in MECHANISMS:
        if mechanism.name in mechanisms:
            comparison.consider(mechanism, work, ignore_progress)
    local = request.guarantee.epsilon
    reasons.extend(f"\n- {each.name} at ε = {local:g}: {each.reason}" for each in comparison.reports if each.reason)
    if comparison.variance is None:
        return None
    best, measure = comparison.best(), comparison.measure
    assert isinstance(measure, UsersBehindBlanket)
    behind = measure.behind(best.evaluated)
    return BlanketChoice(local_epsilon=local, mechanism=best.name, blanket=behind.reports, users=behind.users)
