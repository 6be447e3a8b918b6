"""Grids on categories and two ordered attributes as a candidate: rectangles within each member, or among all."""

from __future__ import annotations

from sordino_analysis.documents.decoders import GridDecoder
from sordino_analysis.evaluation.grids.plane_category_levels import PlaneCategoryLevel
from sordino_analysis.evaluation.grids.plane_families import plane_category_family_of
from sordino_analysis.mechanisms.category_grids import ordered_attributes, too_many_told
from sordino_analysis.mechanisms.grid_sizes import too_many_types
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.plane_category_grid_levels import designed_plane_categories
from sordino_analysis.mechanisms.plane_grids import label_of_plane
from sordino_analysis.mechanisms.shipped_levels import shipped_beside
from sordino_analysis.mechanisms.tuning import PLANE_CATEGORY_GRIDS
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.linear import Workload
from sordino_shared.randomizers import GridPartition, Level


class PlaneCategoryGridsMechanism:
    """Grids of two ordered attributes whose cells are told apart by the members of other attributes, too."""

    name = "plane_category_grids"

    def reason_against(self, work: SharedWork) -> str | None:
        workload = work.request.workload
        family = plane_category_family_of(workload)
        if family is None:
            return _other_queries(workload)
        if workload.size < PLANE_CATEGORY_GRIDS.fewest_types:
            return f"{workload.size} types; from {PLANE_CATEGORY_GRIDS.fewest_types} on grids are worth their levels"
        return too_many_told(family.parts) or too_many_types(workload)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request = work.request
        family = plane_category_family_of(request.workload)
        if family is None:
            raise MechanismFailed("the queries are not about rectangles of two ordered attributes beside others")
        groups = family.groups()
        asked = family.grouped(groups)
        grouped = designed_plane_categories(asked, request.guarantee.epsilon, request.options.objective)
        levels = [level.ungrouped(groups) for level in grouped]
        progress(Progress(0.3))
        return Proposal(shipped_beside(levels, family.shape, _shipped, request.guarantee), GridDecoder())


def _other_queries(workload: Workload) -> str:
    """What queries ask that these grids do not answer."""
    ordered = ordered_attributes(workload)
    if ordered > 2:
        return (
            f"the queries are about {ordered} ordered attributes at once: use `total` for all but two, or the "
            "histogram of a few wide bins"
        )
    return "the queries are not about rectangles of two ordered attributes and members of others"


def _shipped(level: PlaneCategoryLevel, chance: int) -> Level:
    return Level.of_first(chance, GridPartition(level.widths), label_of_plane(level.plane), level.plane.hits)
