"""From an order to what the planner computes. This module imports the planner: workers and checks of orders need it,
the process that answers requests does not.
"""

from __future__ import annotations

import json
from typing import Any

from sordino_analysis.mechanisms.registry import mechanism_names
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.questions.linear import WorkloadSpecification
from sordino_analysis.questions.pairwise import PairwiseSpecification
from sordino_analysis.questions.specifications import parse_either
from sordino_server.plans.schemas import PlanOrder
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon


def planner_request(order: PlanOrder, specification: str) -> PlanRequest | PairwiseRequest:
    """The computation that the order describes; raises InvalidValue where the planner would refuse it."""
    if order.mechanism is not None and order.mechanism not in mechanism_names():
        raise InvalidValue(f"there is no mechanism {order.mechanism!r}; there are {', '.join(mechanism_names())}")
    written: dict[str, Any] = json.loads(specification)
    workload = parse_either(written)
    if isinstance(workload, PairwiseSpecification):
        return _for_statistic(order, workload)
    return _for_queries(order, workload)


def _for_queries(order: PlanOrder, specification: WorkloadSpecification) -> PlanRequest:
    if order.protocol is not None or order.target is not None:
        raise InvalidValue("protocol and target are of statistics of pairs; this workload has linear queries")
    return PlanRequest(
        workload=specification.build(),
        guarantee=PureEpsilon.of(order.epsilon),
        objective=order.objective,
        mechanism=order.mechanism,
        users=order.users,
        seed=order.seed,
        reduction=order.reduction,
        effort=order.effort,
        time_limit=order.time_limit,
    )


def _for_statistic(order: PlanOrder, specification: PairwiseSpecification) -> PairwiseRequest:
    if order.mechanism is not None or order.reduction is not None:
        raise InvalidValue("mechanism and reduction are of linear queries; choose a protocol for a statistic of pairs")
    if order.users is None:
        raise InvalidValue("a statistic of pairs needs `users`, the number to expect: protocols are compared at it")
    return PairwiseRequest(
        specification,
        PureEpsilon.of(order.epsilon),
        order.users,
        order.protocol,
        order.target or "pairs",
        order.seed,
        order.effort,
        order.time_limit,
    )
