"""What takes long on a workload that somebody sent, done in a process of its own: it may be megabytes of text."""

from __future__ import annotations

import json
from dataclasses import replace

from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.documents.price_of_locality import PriceOfLocality
from sordino_analysis.planning_options import PlanningOptions
from sordino_server.plans.schemas import PlanOrder
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Digest


def content_key(order: PlanOrder, specification: str, queries: int) -> str:
    """The digest under which orders of the same plan find each other; raises InvalidValue where there is no plan.

    `specification` is the text of the workload as it was registered, which has so many queries.
    """
    # Imported here since the process that answers requests imports this module, and must not hold the planner.
    from sordino_analysis.requests import StoredRequest

    request = StoredRequest(specification, order.options())
    request.check(queries)
    digest: Digest = request.digest
    return str(digest)


def price(specification: str, summary: LinearSummary, target_error: float, delta: float) -> PriceOfLocality:
    """The price of locality of a finished plan; raises InvalidValue where its bias alone exceeds the target.

    `specification` is the text of the workload as it was registered.
    """
    # Imported here for the same reason.
    from sordino_analysis.guarantees.written_chance import chance_of
    from sordino_analysis.kinds.specifications import parse_question
    from sordino_analysis.price_of_locality import price_of_locality
    from sordino_analysis.questions.linear import WorkloadSpecification

    asked = parse_question(json.loads(specification))
    if not isinstance(asked, WorkloadSpecification):
        raise InvalidValue("a pairwise statistic has no price of locality", asked)
    return price_of_locality(asked.build(), summary, target_error, chance_of(delta))


def quick_summary(specification: str, options: PlanningOptions) -> str:
    """The summary, as JSON, of the plan that a search with these options finds for a stored workload (JSON).

    It says nothing of fake reports with drawn coins, which nobody reads there.
    """
    from sordino_analysis.kinds.specifications import parse_question
    from sordino_analysis.planning.linear_request import LinearRequest
    from sordino_analysis.questions.linear import WorkloadSpecification

    asked = parse_question(json.loads(specification))
    assert isinstance(asked, WorkloadSpecification), "quick summaries are of linear queries"
    return replace(LinearRequest.of(asked, options), with_coins=False).compile().summary.text()
