"""The plan of a trusted curator: an integer strategy for a workload, its errors at ρ, and the certificate beside it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.certificate import CuratorCertificate, certify
from sordino_analysis.curator.strategy import IntegerStrategy, integer_strategy
from sordino_analysis.curator.usefulness import uniform_error, useful_from
from sordino_analysis.documents.curator_summary import CuratorSummary
from sordino_analysis.guarantees.approximate import approximate_of
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.optimisation.gaussian.covariance import optimal_covariance
from sordino_analysis.optimisation.gaussian.worst_query import weigh_worst_query
from sordino_analysis.questions.linear.workload import Workload
from sordino_analysis.request_terms import Neighbours, Objective
from sordino_shared.errors import InvalidValue

DELTA = Fraction(1, 10**6)
# Pairs of types are weighted one by one: more of them need minutes and gigabytes.
_MAX_TYPES, _MAX_QUERIES = 1024, 16_384
# The search ends at .5 % for means and at 1 % for the worst query.
_LARGEST_GAP = 0.0101


@dataclass(frozen=True, eq=False, kw_only=True)
class CuratorPlan:
    """An unbiased release under ρ-zCDP.

    `replace` neighbours differ in the row of one person; the strategy answers the queries that vary. With `add-remove`
    the number of people is secret, so the strategy answers every query and, last, that number. `mean_certificate`
    bounds the mean variance under the workload's own weights. `max_certificate` bounds the worst variance: the mean
    under any weights does. Both are None where no bound speaks of so few users. `gap` is proved: no Gaussian release
    has a standard error of less than 1/(1 + gap) of the strategy's, before rounding.
    """

    workload: Workload
    guarantee: Zcdp
    objective: Objective
    users: int | None
    strategy: IntegerStrategy
    mean_certificate: CuratorCertificate | None
    max_certificate: CuratorCertificate | None
    gap: float
    seconds: float

    @property
    def neighbours(self) -> Neighbours:
        """Which data sets count as neighbours."""
        return self.strategy.neighbours

    def summary(self, delta: Fraction = DELTA) -> CuratorSummary:
        """The plan in numbers, with (ε, δ) at this δ."""
        variances = self.strategy.variances(self.guarantee)
        matrix, weights = asked_rows(self.workload, self.neighbours)
        worst, mean = float(variances.max()), float(np.mean(weights * variances))
        bound_mean = self.mean_certificate and self.mean_certificate.mean_variance(self.guarantee)
        bound_max = self.max_certificate and self.max_certificate.mean_variance(self.guarantee)
        certificates = [each for each in (self.mean_certificate, self.max_certificate) if each is not None]
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
            useful_from_n=useful_from(mean, uniform_error(matrix, weights)),
            seconds=self.seconds,
            warnings=self._warnings(),
            users=self.users,
            predicted_max_rmse=None if self.users is None else math.sqrt(worst) / self.users,
        )

    def _warnings(self) -> tuple[str, ...]:
        found = []
        if self.mean_certificate is None:
            found.append(f"no certificate at {self.users} users: state more users")
        if self.gap > _LARGEST_GAP:
            found.append(
                f"the search was stopped: another strategy may have a standard error up to {self.gap:.1%} smaller; "
                "allow more time"
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
    1,024 types or 16,384 queries.
    """
    _check(workload, guarantee, users)
    if users is not None and neighbours == "add-remove":
        raise InvalidValue("with add-remove neighbours the number of users is secret: leave it out", users)
    started = time.monotonic()
    matrix, own = asked_rows(workload, neighbours)
    weighted = np.sqrt(own)[:, None] * matrix
    mean = optimal_covariance(weighted, neighbours, should_stop=should_stop)
    weights, chosen, gap = own, mean, mean.gap
    if objective == "max":
        worst = weigh_worst_query(matrix, own, mean, should_stop=should_stop)
        weights, chosen, gap = worst.query_weights, worst.optimum, worst.gap
    mean_certificate = certify(weighted, mean, users)
    return CuratorPlan(
        workload=workload,
        guarantee=guarantee,
        objective=objective,
        users=users,
        strategy=integer_strategy(matrix, chosen, weights),
        mean_certificate=mean_certificate,
        max_certificate=_stronger(mean_certificate, certify(np.sqrt(weights)[:, None] * matrix, chosen, users)),
        gap=gap,
        seconds=time.monotonic() - started,
    )


def asked_rows(workload: Workload, neighbours: Neighbours) -> tuple[Floats, Floats]:
    """(m, k) the rows that a release answers, and (m,) their weights.

    Constant queries are known where the number of people is. Where it is secret they are measured, and so is that
    number, which turns counts into shares.
    """
    if neighbours == "replace":
        varying = workload.varying_rows
        return np.asarray(workload.operator.dense()[varying]), np.asarray(workload.query_weights[varying])
    everyone = np.ones((1, workload.size))
    return np.vstack([workload.operator.dense(), everyone]), np.append(workload.query_weights, 1.0)


def _stronger(one: CuratorCertificate | None, other: CuratorCertificate | None) -> CuratorCertificate | None:
    return max((each for each in (one, other) if each is not None), key=lambda each: each.norm, default=None)


def _check(workload: Workload, guarantee: Zcdp, users: int | None) -> None:
    if guarantee.nano_rho == 0:
        raise InvalidValue("ρ = 0 releases nothing: plan with ρ of at least 1e-9", guarantee)
    if users is not None and users < 1:
        raise InvalidValue(f"a release is about at least one user, got {users}", users)
    check_size(workload)


def check_size(workload: Workload) -> None:
    """Raise InvalidValue for a workload that is too large to weigh all pairs of its types."""
    if workload.size > _MAX_TYPES or workload.queries > _MAX_QUERIES:
        raise InvalidValue(
            f"the plan of a curator takes up to {_MAX_TYPES} types and {_MAX_QUERIES} queries, the workload has "
            f"{workload.size} and {workload.queries}: ask fewer, or plan for devices",
            workload,
        )
