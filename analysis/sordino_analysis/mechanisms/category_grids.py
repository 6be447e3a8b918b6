"""Grids on categories and one ordered attribute as a candidate: intervals within each member, or among all."""

from __future__ import annotations

from collections.abc import Sequence

from sordino_analysis.documents.decoders import GridDecoder
from sordino_analysis.evaluation.grids.beside_families import PartBeside
from sordino_analysis.evaluation.grids.category_families import category_family_of
from sordino_analysis.evaluation.grids.category_levels import CategoryLevel
from sordino_analysis.mechanisms.category_grid_levels import designed_categories
from sordino_analysis.mechanisms.category_grid_maximum import designed_for_the_worst
from sordino_analysis.mechanisms.grid_sizes import too_many_types
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.shipped_levels import shipped_beside
from sordino_analysis.mechanisms.tuning import CATEGORY_GRIDS
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.linear import Workload
from sordino_shared.randomizers import GridPartition, Level, LinearLabel, ResidueLabel


class CategoryGridsMechanism:
    """Grids of an ordered attribute whose cells are told apart by the members of other attributes, too.

    A cell is hashed together with its members, so that one report tells of all of them. Nothing of the plan grows with
    the number of members or bins.
    """

    name = "category_grids"

    def reason_against(self, work: SharedWork) -> str | None:
        workload = work.request.workload
        family = category_family_of(workload)
        if family is None:
            return _other_queries(workload)
        if workload.size < CATEGORY_GRIDS.fewest_types:
            return f"{workload.size} types; from {CATEGORY_GRIDS.fewest_types} on grids are worth their levels"
        return too_many_told(family.parts) or too_many_types(workload)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request = work.request
        family = category_family_of(request.workload)
        if family is None:
            raise MechanismFailed("the queries are not about intervals within members of other attributes")
        designed = designed_categories if request.options.objective == "mean" else designed_for_the_worst
        groups = family.groups()
        grouped = designed(family.grouped(groups), request.guarantee.epsilon)
        levels = [level.ungrouped(groups) for level in grouped]
        progress(Progress(0.3))
        return Proposal(shipped_beside(levels, family.shape, _shipped, request.guarantee), GridDecoder())


def _other_queries(workload: Workload) -> str:
    """What queries ask that these grids do not answer."""
    ordered = ordered_attributes(workload)
    if ordered > 1:
        return (
            f"the queries are about {ordered} ordered attributes at once: use `total` for all but one, or the "
            "histogram of a few wide bins"
        )
    return "the queries are not about intervals of one ordered attribute and members of others"


def ordered_attributes(workload: Workload) -> int:
    """Of how many attributes queries ask about intervals."""
    factors = [part.factored or () for part, _ in workload.operator.stacked]
    return len({place for each in factors for place, one in enumerate(each) if one.intervals is not None})


def too_many_told(parts: Sequence[PartBeside]) -> str | None:
    """Why levels are not made for so many sets of attributes that are told apart; None where they are."""
    told = len({part.apart for part in parts})
    if told <= CATEGORY_GRIDS.most_told:
        return None
    return (
        f"the parts of the stack tell {told} sets of attributes apart, and levels are made for at most "
        f"{CATEGORY_GRIDS.most_told}: ask about fewer sets, or about several together"
    )


def _shipped(level: CategoryLevel, chance: int) -> Level:
    line = level.line
    label = LinearLabel(line.labels.bit_length() - 1) if line.hashed else ResidueLabel((line.labels,))
    return Level.of_first(chance, GridPartition(level.widths), label, line.hits)
