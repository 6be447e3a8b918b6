"""Which queries grids list: all of one attribute or of two, or some that are spread over all."""

from __future__ import annotations

from sordino_analysis.evaluation.grids.answers import listed_on_a_line
from sordino_analysis.evaluation.grids.plane_prefixes import listed_plane, plane_of
from sordino_analysis.evaluation.grids.stacked import family_of
from sordino_analysis.questions.linear import Workload


def listed_by_grids(workload: Workload) -> Workload:
    """The workload with the listed queries only; one that is no family of grids is returned as it is."""
    plane = plane_of(workload.operator)
    return listed_on_a_line(workload) if plane is None else listed_plane(workload, plane)


def answered_by_grids(workload: Workload) -> bool:
    """Whether all queries are sums of cells of ordered attributes that grids decode without a list of them."""
    return plane_of(workload.operator) is not None or family_of(workload) is not None
