"""The plan of a trusted curator: an integer strategy for a workload, its errors at ρ, and the certificate beside it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino_analysis.curator.design import Design, check_listed, dense_design
from sordino_analysis.curator.orbit_design import binary_orbits, orbit_design
from sordino_analysis.curator.strategy import Strategy
from sordino_analysis.curator.usefulness import useful_from
from sordino_analysis.documents.curator_summary import CuratorSummary
from sordino_analysis.guarantees.approximate import DELTA, approximate_of
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.percentages import percent
from sordino_analysis.questions.linear.workload import Workload
from sordino_analysis.request_terms import Neighbours, Objective
from sordino_shared.errors import InvalidValue

# The search ends at .5 % for means and at 1 % for the worst query.
_LARGEST_GAP = 0.0101


@dataclass(frozen=True, eq=False, kw_only=True)
class CuratorPlan:
    """An unbiased release under ρ-zCDP.

    `replace` neighbours differ in the row of one person; the strategy answers the queries that vary. With `add-remove`
    the number of people is secret, so the strategy answers every query and, last, that number.
    """

    workload: Workload
    guarantee: Zcdp
    objective: Objective
    users: int | None
    design: Design
    seconds: float

    @property
    def strategy(self) -> Strategy:
        """What is measured, and how answers follow from it."""
        return self.design.strategy

    @property
    def neighbours(self) -> Neighbours:
        """Which data sets count as neighbours."""
        return self.strategy.neighbours

    def summary(self, delta: Fraction = DELTA) -> CuratorSummary:
        """The plan in numbers, with (ε, δ) at this δ."""
        design, variances = self.design, self.strategy.variances(self.guarantee)
        worst, mean = float(variances.max()), float(np.mean(design.weights * variances))
        bound_mean = design.mean_certificate and design.mean_certificate.mean_variance(self.guarantee)
        bound_max = design.max_certificate and design.max_certificate.mean_variance(self.guarantee)
        certificates = [each for each in (design.mean_certificate, design.max_certificate) if each is not None]
        return CuratorSummary(
            workload=self.workload.name,
            k=self.workload.size,
            queries=self.workload.queries,
            rho=self.guarantee.rho,
            epsilon=approximate_of(self.guarantee, delta).nano_epsilon / 1e9,
            delta=float(delta),
            neighbours=self.neighbours,
            objective=self.objective,
            mechanism="discrete gaussian",
            max_variance=worst,
            mean_variance=mean,
            bias_bound=0.0,
            lower_bound_max=bound_max,
            lower_bound_mean=bound_mean,
            ratio_max=bound_max and worst / bound_max,
            ratio_mean=bound_mean and mean / bound_mean,
            holds_from_n=max((each.holds_from_n for each in certificates), default=None),
            squared_sensitivity=self.strategy.squared_sensitivity,
            noise_variance=float(self.strategy.noise_variance(self.guarantee)),
            useful_from_n=useful_from(mean, design.uniform_error),
            seconds=self.seconds,
            warnings=self._warnings(),
            users=self.users,
            predicted_max_rmse=None if self.users is None else math.sqrt(worst) / self.users,
        )

    def _warnings(self) -> tuple[str, ...]:
        found = []
        if self.design.mean_certificate is None:
            found.append(f"no certificate at {self.users} users: state more users")
        if self.design.gap > _LARGEST_GAP:
            found.append(
                "the search was stopped: another strategy may have a standard error up to "
                f"{percent(self.design.gap, 1)} smaller; allow more time"
            )
        return tuple(found)


def plan_release(
    workload: Workload,
    guarantee: Zcdp,
    objective: Objective = "max",
    users: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    neighbours: Neighbours = "replace",
) -> CuratorPlan:
    """The plan with the least worst or mean variance of counts, or the best one when `should_stop()`.

    Raises InvalidValue for ρ = 0, fewer than one user or a number of them that is secret, or a workload of more than
    1,024 types or 16,384 queries that are not all marginals or parities of a few bits.
    """
    _check(guarantee, users, neighbours)
    started = time.monotonic()
    design = orbit_design(workload, objective, neighbours, users)
    if design is None:
        design = dense_design(workload, objective, neighbours, users, should_stop)
    return CuratorPlan(
        workload=workload,
        guarantee=guarantee,
        objective=objective,
        users=users,
        design=design,
        seconds=time.monotonic() - started,
    )


def _check(guarantee: Zcdp, users: int | None, neighbours: Neighbours) -> None:
    if guarantee.nano_rho == 0:
        raise InvalidValue("ρ = 0 releases nothing: plan with ρ of at least 1e-9", guarantee)
    if users is not None and users < 1:
        raise InvalidValue(f"a release is about at least one user, got {users}", users)
    if users is not None and neighbours == "add-remove":
        raise InvalidValue("with add-remove neighbours the number of users is secret: leave it out", users)


def check_size(workload: Workload) -> None:
    """Raise InvalidValue for a workload that is too large to weigh all pairs of its types and not of bits."""
    if binary_orbits(workload.operator, "replace") is None:
        check_listed(workload)
