"""What the planner would make of an order, in a process of its own: its workload is built for that."""

from __future__ import annotations

import json
from typing import Any

from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.questions.pairwise import PairwiseSpecification
from sordino_analysis.questions.specifications import parse_either
from sordino_server.plans.schemas import PlanOrder
from sordino_shared.guarantees import PureEpsilon


def planner_request(order: PlanOrder, specification: str) -> PlanRequest | PairwiseRequest:
    """What the planner is asked for; raises InvalidValue where it would refuse."""
    written: dict[str, Any] = json.loads(specification)
    asked = parse_either(written)
    if isinstance(asked, PairwiseSpecification):
        return order.for_statistic(asked)
    order.check_linear()
    return PlanRequest(
        workload=asked.build(),
        guarantee=PureEpsilon.of(order.epsilon),
        objective=order.objective,
        mechanism=order.mechanism,
        users=order.users,
        seed=order.seed,
        reduction=order.reduction,
        effort=order.effort,
        time_limit=order.time_limit,
    )


def content_key(order: PlanOrder, specification: str) -> str:
    """The digest under which requests of the same plan find each other; raises InvalidValue as `planner_request`."""
    return str(planner_request(order, specification).digest)
