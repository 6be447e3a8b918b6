"""The check of an order before it is queued, in a process of its own: its workload may be megabytes of text."""

from __future__ import annotations

from sordino_server.plans.schemas import PlanOrder
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
