"""The design of a release: what is measured, what proves that little better exists, for any workload of few types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.certificate import CuratorCertificate, certify
from sordino_analysis.curator.rounding import integer_strategy
from sordino_analysis.curator.strategy import Strategy
from sordino_analysis.curator.usefulness import uniform_error
from sordino_analysis.optimisation.gaussian.covariance import optimal_covariance
from sordino_analysis.optimisation.gaussian.worst_query import weigh_worst_query
from sordino_analysis.questions.linear.workload import Workload
from sordino_analysis.request_terms import Neighbours, Objective
from sordino_shared.errors import InvalidValue

# Pairs of types are weighted one by one: more of them need minutes and gigabytes.
MAX_TYPES, MAX_QUERIES = 1024, 16_384


@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """A strategy of Gaussian noise for m answers of `weights` (m,), with bounds for unbiased releases.

    `mean_certificate` bounds the mean variance under the workload's own weights. `max_certificate` bounds the worst
    variance: the mean under any weights does. Both are None where no bound speaks of so few users. `gap` is proved: no
    Gaussian release has a standard error of less than 1/(1 + gap) of the strategy's, before rounding. `uniform_error`
    is that of the shares of the uniform histogram.
    """

    strategy: Strategy
    weights: Floats
    mean_certificate: CuratorCertificate | None
    max_certificate: CuratorCertificate | None
    gap: float
    uniform_error: float


def dense_design(
    workload: Workload,
    objective: Objective,
    neighbours: Neighbours,
    users: int | None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Design:
    """The least worst or mean variance by ascent over pairs of types, or the best one when `should_stop()`.

    Raises InvalidValue for a workload of more than 1,024 types or 16,384 queries.
    """
    check_listed(workload)
    matrix, own = asked_rows(workload, neighbours)
    weighted = np.sqrt(own)[:, None] * matrix
    mean = optimal_covariance(weighted, neighbours, should_stop=should_stop)
    weights, chosen, gap = own, mean, mean.gap
    if objective == "max":
        worst = weigh_worst_query(matrix, own, mean, should_stop=should_stop)
        weights, chosen, gap = worst.query_weights, worst.optimum, worst.gap
    mean_certificate = max_certificate = certify(matrix, mean, users, own, should_stop)
    if chosen is not mean:
        max_certificate = _stronger(mean_certificate, certify(matrix, chosen, users, weights, should_stop))
    return Design(
        strategy=integer_strategy(matrix, chosen, weights),
        weights=own,
        mean_certificate=mean_certificate,
        max_certificate=max_certificate,
        gap=gap,
        uniform_error=uniform_error(matrix, own),
    )


def check_listed(workload: Workload) -> None:
    """Raise InvalidValue for a workload that is too large to weigh all pairs of its types."""
    if workload.dithering is not None:
        raise InvalidValue(
            "measures of numbers are planned for devices, which round them: ask a curator for shares of bins",
            workload,
        )
    if workload.size > MAX_TYPES or workload.queries > MAX_QUERIES:
        raise InvalidValue(
            f"the plan of a curator takes up to {MAX_TYPES} types and {MAX_QUERIES} queries, the workload has "
            f"{workload.size} and {workload.queries}: ask fewer, or plan for devices; marginals and parities of "
            "attributes of two members each may have more",
            workload,
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
