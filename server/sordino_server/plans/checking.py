"""The check of an order before it is queued, in a process of its own: its workload is built for that."""

from __future__ import annotations

from sordino_server.plans.schemas import PlanOrder


def content_key(order: PlanOrder, specification: str) -> str:
    """The digest under which requests of the same plan find each other; raises InvalidValue as `planner_request`."""
    # Imported here since the process that answers requests imports this module, and must not hold the planner.
    from sordino_server.plans.planner_requests import planner_request

    return str(planner_request(order, specification).digest)
