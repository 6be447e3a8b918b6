"""Grids on categories and two ordered attributes as a candidate: rectangles within each member, or among all."""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.documents.decoders import GridDecoder
from sordino_analysis.evaluation.grids.plane_category_levels import PlaneCategoryLevel
from sordino_analysis.evaluation.grids.plane_families import PlaneCategoryFamily, plane_category_family_of
from sordino_analysis.mechanisms.category_grids import ordered_attributes
from sordino_analysis.mechanisms.grid_sizes import too_many_types
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.plane_category_grid_levels import designed_plane_categories
from sordino_analysis.mechanisms.plane_grids import label_of_plane
from sordino_analysis.mechanisms.tuning import CATEGORY_GRIDS, PLANE_CATEGORY_GRIDS
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.linear import Workload
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened, GridPartition, Level
from sordino_shared.randomizers.coarsened.level import CHANCE_BITS, MAX_LEVELS
from sordino_shared.randomizers.coarsened.randomizer import MAX_TABLES


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
        told = len({part.apart for part in family.parts})
        if told > CATEGORY_GRIDS.most_told:
            return (
                f"the parts of the stack tell {told} sets of attributes apart, and levels are made for at most "
                f"{CATEGORY_GRIDS.most_told}: ask about fewer sets, or about several together"
            )
        return too_many_types(workload)

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
        return Proposal(shipped_plane_categories(levels, family, request.guarantee), GridDecoder())


def _other_queries(workload: Workload) -> str:
    """What queries ask that these grids do not answer."""
    ordered = ordered_attributes(workload)
    if ordered > 2:
        return (
            f"the queries are about {ordered} ordered attributes at once: use `total` for all but two, or the "
            "histogram of a few wide bins"
        )
    return "the queries are not about rectangles of two ordered attributes and members of others"


def shipped_plane_categories(
    levels: list[PlaneCategoryLevel], family: PlaneCategoryFamily, guarantee: PureEpsilon
) -> Coarsened:
    """The levels in integers: chances that sum to 2^32, and the largest weight whose ratio to the low one is in e^ε."""
    whole = 1 << CHANCE_BITS
    # Each has a table of the types that it looks at.
    most = MAX_TABLES // (math.prod(family.shape) + 1)
    levels = sorted(levels, key=lambda level: -level.chance)[: min(most, MAX_LEVELS)]
    shares = np.array([level.chance for level in levels])
    chances = np.maximum(1, np.rint(shares / shares.sum() * whole)).astype(np.int64)
    chances[chances.argmax()] += whole - chances.sum()
    made = [
        Level.of_first(int(chance), GridPartition(level.widths), label_of_plane(level.plane), level.plane.hits)
        for level, chance in zip(levels, chances, strict=True)
    ]
    return Coarsened.for_guarantee(family.shape, made, guarantee)
