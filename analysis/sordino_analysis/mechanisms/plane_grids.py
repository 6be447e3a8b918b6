"""Shifted grids on two attributes as a candidate: for prefix sums of both at once."""

from __future__ import annotations

import numpy as np

from sordino_analysis.documents.decoders import GridDecoder
from sordino_analysis.evaluation.grids.levels import Pair
from sordino_analysis.evaluation.grids.plane_levels import PlaneLevel
from sordino_analysis.evaluation.grids.plane_prefixes import plane_of
from sordino_analysis.mechanisms.grid_sizes import too_many_types
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.plane_grid_levels import designed_plane
from sordino_analysis.mechanisms.shipped_levels import whole_chances
from sordino_analysis.mechanisms.tuning import PLANE_GRIDS
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened, GridPartition, Level, LinearLabel, ResidueLabel
from sordino_shared.randomizers.coarsened.level import MAX_LEVELS


class PlaneGridsMechanism:
    """A width of each attribute at random, grids of them shifted at random, and the cell of both hashed, or numbered
    in turn where cells are wide.
    """

    name = "plane_grids"

    def reason_against(self, work: SharedWork) -> str | None:
        plane = plane_of(work.request.workload.operator)
        if plane is None:
            return "the queries are not all prefix sums of two attributes at once"
        size = work.request.workload.size
        if size < PLANE_GRIDS.fewest_types:
            return f"{size} types; from {PLANE_GRIDS.fewest_types} on grids are worth their levels"
        return too_many_types(work.request.workload)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request = work.request
        plane = plane_of(request.workload.operator)
        if plane is None:
            raise MechanismFailed("the queries are no prefix sums of two attributes")
        levels = designed_plane(plane.shape, request.guarantee.epsilon)
        progress(Progress(0.3))
        return Proposal(shipped_plane(levels, plane.shape, request.guarantee), GridDecoder())


def shipped_plane(levels: list[PlaneLevel], shape: Pair, guarantee: PureEpsilon) -> Coarsened:
    """The levels in integers: chances that sum to 2^32, and the largest weight whose ratio to the low one is in e^ε."""
    most = max(level.chance for level in levels)
    kept = sorted(
        (one for one in levels if one.chance > PLANE_GRIDS.smallest_share * most), key=lambda one: -one.chance
    )
    kept = kept[:MAX_LEVELS]
    shares = np.array([level.chance for level in kept])
    # A level that is the same with the attributes exchanged, if there is one, so that they stay alike.
    rounded = max(range(len(kept)), key=lambda place: (len(set(kept[place].widths)) == 1, shares[place]))
    chances = whole_chances(shares / shares.sum(), rounded)
    made = [_shipped(level, chance) for level, chance in zip(kept, chances, strict=True)]
    return Coarsened.for_guarantee(shape, made, guarantee)


def _shipped(level: PlaneLevel, chance: int) -> Level:
    return Level.of_first(chance, GridPartition(level.widths), label_of_plane(level), level.hits)


def label_of_plane(level: PlaneLevel) -> LinearLabel | ResidueLabel:
    """The label of a level as on the wire."""
    if level.residues is None:
        return LinearLabel(level.labels.bit_length() - 1)
    looked_at = [count for count, width in zip(level.residues, level.widths, strict=True) if width]
    return ResidueLabel(tuple(looked_at))
