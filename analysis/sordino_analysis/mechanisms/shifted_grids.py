"""Shifted grids as a candidate: for queries about hundreds to a quarter of a million ordered types."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sordino_analysis.documents.decoders import GridDecoder
from sordino_analysis.evaluation.grids.families import LineFamily
from sordino_analysis.evaluation.grids.levels import GridLevel
from sordino_analysis.evaluation.grids.stacked import family_of
from sordino_analysis.mechanisms.grid_sizes import too_many_types
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.shipped_levels import whole_chances
from sordino_analysis.mechanisms.stack_levels import levels_of
from sordino_analysis.mechanisms.tuning import SHIFTED_GRIDS
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened, GridPartition, Level, LinearLabel, ResidueLabel


class ShiftedGridsMechanism:
    """A width at random, a grid of it shifted at random, and the cell hashed, or numbered in turn where cells are wide.

    Two types share a cell of width w with chance (1 − d/w)₊ at the distance d: widths with chances like 1/w tell what
    the best matrix for prefix sums tells, −log d. Nothing of the plan or the decoder grows with the number of types.
    """

    name = "shifted_grids"

    def reason_against(self, work: SharedWork) -> str | None:
        family = family_of(work.request.workload)
        if family is None:
            return "the queries are not all about one ordered attribute, or are its histogram alone"
        if family.size < SHIFTED_GRIDS.fewest_types:
            return f"{family.size} types; from {SHIFTED_GRIDS.fewest_types} on grids are worth their levels"
        return too_many_types(work.request.workload)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request = work.request
        family = family_of(request.workload)
        if family is None:
            raise MechanismFailed("the queries are not about one ordered attribute")
        levels = levels_of(family, request.guarantee.epsilon, request.options.objective)
        progress(Progress(0.3))
        return shipped_proposal(levels, family, request.guarantee)


def shipped_proposal(levels: list[GridLevel], family: LineFamily, guarantee: PureEpsilon) -> Proposal:
    """The levels in integers, with what reports count where that was chosen with them."""
    randomizer = shipped(levels, family, guarantee)
    counts = {_shipped(level, 0): level.counts for level in levels}
    factors = [counts[replace(level, chance=0)] for level in randomizer.levels]
    if None in factors:
        return Proposal(randomizer, GridDecoder())
    return Proposal(randomizer, GridDecoder(array_of(np.array(factors, dtype=float), "<f8")))


def shipped(levels: list[GridLevel], family: LineFamily, guarantee: PureEpsilon) -> Coarsened:
    """The levels in integers: chances that sum to 2^32, and the largest weight whose ratio to the low one is in e^ε."""
    chances = whole_chances(np.array([level.chance for level in levels]))
    made = [_shipped(level, chance) for level, chance in zip(levels, chances, strict=True)]
    return Coarsened.for_guarantee((family.size,), made, guarantee)


def _shipped(level: GridLevel, chance: int) -> Level:
    label = LinearLabel(level.labels.bit_length() - 1) if level.hashed else ResidueLabel((level.labels,))
    return Level.of_first(chance, GridPartition((level.width,)), label, level.hits)
