"""The local ε, the mechanism and the blanket that take the fewest users for an error and an (ε, δ) at the collector.

A larger ε₀ on devices lowers the error and needs a larger blanket, whose reports add noise of their own. So mechanisms
are compared by users, not by variance: the order differs.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.guarantees.approximate import Approximate
from sordino_analysis.guarantees.blanket import envelope_of, least_blanket
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.mechanisms.registry import MECHANISMS
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.planning.comparison import Comparison, Contender
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.progress import ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.request_terms import Objective
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO
from sordino_shared.protocol.routes import MAX_BLANKET
from sordino_shared.randomizers import AnyRandomizer, FiniteKernel
from sordino_shared.shuffling.laws import MAX_STEPS, loss_of
from sordino_shared.shuffling.profile import LossLaw

# ε₀ is a multiple of this, up to the largest that is allowed.
_STEP = 0.25
# Entries of a workload up to which the variance of each query over uniform types is computed.
_MOST_ENTRIES = 1 << 24


@dataclass(frozen=True, kw_only=True)
class BlanketChoice:
    """What devices spend and send, how many random reports a shuffler adds, and the users that are then enough."""

    local_epsilon: float
    mechanism: str
    blanket: int
    users: int


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
    best, reasons = None, []
    for local in _local_epsilons(epsilon, largest_epsilon):
        found = []
        for contender in _contenders(workload, objective, local, mechanisms):
            try:
                found.append(_with_blanket(workload, objective, contender, local, bound, target_error))
            except InvalidValue as reason:
                reasons.append(f"\n- {contender.name} at ε = {local:g}: {reason}")
        least = min(found, key=lambda choice: choice.users, default=None)
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


def _contenders(
    workload: Workload, objective: Objective, epsilon: float, mechanisms: Collection[str]
) -> Iterator[Contender]:
    request = PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, objective=objective))
    work = SharedWork(request, Deadline(None, lambda: False))
    for mechanism in MECHANISMS:
        if mechanism.name in mechanisms:
            comparison = Comparison(request)
            comparison.consider(mechanism, work, ignore_progress)
            if comparison.variance is not None:
                yield comparison.best()


def _with_blanket(
    workload: Workload,
    objective: Objective,
    contender: Contender,
    epsilon: float,
    bound: Approximate,
    target_error: float,
) -> BlanketChoice:
    figures = contender.profile.figures()
    variance = figures.max_variance if objective == "max" else figures.mean_variance
    blanket = least_blanket(_loss(contender.proposal.randomizer, math.exp(bound.nano_epsilon / NANO)), bound.delta)
    if blanket > MAX_BLANKET:
        raise PlanError(f"it takes {blanket:,} random reports, and a shuffler adds at most {MAX_BLANKET:,}", blanket)
    room = target_error**2 - figures.bias_bound**2
    if room <= 0:
        raise PlanError(f"its bias of up to {figures.bias_bound:.3g} is above the target error", target_error)
    noise = blanket * (variance + _spread(workload, objective))
    # (n v + m s)/n² = τ², with s ≤ v + Var(W) for a report of a uniform type.
    users = (variance + math.sqrt(variance**2 + 4 * room * noise)) / (2 * room)
    return BlanketChoice(
        local_epsilon=epsilon, mechanism=contender.name, blanket=blanket, users=max(1, math.ceil(users))
    )


def _loss(randomizer: AnyRandomizer, power: float) -> LossLaw:
    """As shufflers prove it, the envelope of a table as an array computation."""
    if isinstance(randomizer, FiniteKernel) and randomizer.size**2 * randomizer.outputs <= MAX_STEPS:
        table: Floats = np.array([list(map(float, column)) for column in _columns(randomizer)]).T
        return envelope_of(table / table.sum(axis=0), power)
    return loss_of(randomizer, power)


def _columns(kernel: FiniteKernel) -> Iterator[list[int]]:
    """(outputs,) integers of each type, the null output last where there is one."""
    for cell in range(kernel.size):
        column = [int(entry) for entry in kernel.rows.column(cell)]
        yield column if kernel.outputs == len(column) else [*column, (1 << kernel.bits) - sum(column)]


def _spread(workload: Workload, objective: Objective) -> float:
    """Var of W_qx over uniform types, of the query with the most or on average; of large workloads a bound."""
    if workload.queries * workload.size > _MOST_ENTRIES:
        low, high = workload.operator.entry_range()
        return float((high - low) ** 2 / 4)
    spreads = workload.operator.take(np.arange(workload.queries)).var(axis=1)
    return float(spreads.max() if objective == "max" else spreads.mean())
