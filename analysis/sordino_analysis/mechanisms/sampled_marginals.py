"""Sampled marginals as a candidate: a set of attributes at random, and the cell there by subset selection."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.mechanisms.orbit_kernel import drawn_proposal, reason_against_orbits
from sordino_analysis.mechanisms.tuning import SAMPLED_MARGINALS
from sordino_analysis.optimisation.symmetry.orbit_rows import RowShape, distinct_profiles, row_shape
from sordino_analysis.optimisation.symmetry.row_families import RowFamily
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.questions.linear.widths import character_map


class SampledMarginalsMechanism:
    """Attributes of the sizes that some query is about, and a random subset of the cells, of the best sizes, held more.

    Subsets of one cell are randomized response of the cell. Subsets that shifts and exchanges of the attributes take
    to one another are one row, whose share counts them, so the law is that of subset selection, and is so exactly.
    Cormode, Kulkarni, Srivastava 2018 (InpPS, MargPS).
    """

    name = "sampled_marginals"

    def reason_against(self, work: SharedWork) -> str | None:
        reason = reason_against_orbits(work)
        if reason is not None or not work.has_many_orbits:
            return reason
        kinds = len({tuple(sorted(block.shape)) for block in character_map(work.request.workload.operator).blocks})
        return f"a family of subsets for {kinds} kinds of sets of attributes needs too many rows" if kinds > 1 else None

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        operator, epsilon = character_map(work.request.workload.operator), work.request.guarantee.epsilon
        patterns = sorted({tuple(sorted(block.shape)) for block in operator.blocks})
        shapes = [row_shape(pattern, operator.characters) for pattern in patterns]
        orbits = len(operator.characters.orbits)
        return drawn_proposal([family for shape in shapes for family in _families(shape, epsilon, orbits)], work)


def _families(shape: RowShape, epsilon: float, orbits: int) -> Iterator[RowFamily]:
    """A family for every size of subsets that can be written out."""
    for size in range(1, shape.cells // 2 + 1):
        if math.comb(shape.cells - 1, size - 1) > SAMPLED_MARGINALS.most_subsets:
            return
        # A shift moves any cell to the first, so the subsets that hold it stand for all.
        others = np.array(list(combinations(range(1, shape.cells), size - 1)), dtype=np.intp)
        sets = np.zeros((len(others), shape.cells), dtype=bool)
        sets[:, 0] = True
        np.put_along_axis(sets, others, True, axis=1)
        profiles = shape.profiles(sets, epsilon, orbits)
        first, counts = distinct_profiles(profiles)
        if len(first) <= SAMPLED_MARGINALS.most_sets:
            yield RowFamily(shape, sets[first], counts / len(sets), profiles.mean(axis=0))
