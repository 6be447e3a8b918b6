"""How finely devices round numbers: as a plan's ε and mechanism have use for."""

from __future__ import annotations

from dataclasses import replace

from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.building import build_workload

# One bit: a device part of a few hundred bytes, for devices that should do no more than that.
_OF_ONE_BIT = 2
_ONE_BIT = "randomized_response"


def with_levels(workload: Workload, options: PlanningOptions) -> Workload:
    """The workload with the levels that its plan uses; what asks about no numbers is as it was."""
    queries = workload.published
    if not isinstance(queries, NumberQueries) or options.mechanism != _ONE_BIT:
        return workload
    asked = tuple(replace(each, levels=_OF_ONE_BIT) for each in queries.asked)
    return build_workload(workload.held_domain, NumberQueries(asked), workload.name)
