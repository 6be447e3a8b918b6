"""Levels of grids for the worst query of a stack: its parts are weighed until their worst queries count alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.families import LineFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.levels import GridLevel
from sordino_analysis.evaluation.grids.stacked import StackFamily
from sordino_analysis.mechanisms.grid_levels import designed_levels
from sordino_analysis.mechanisms.stack_tuning import STACK_LEVELS
from sordino_analysis.request_terms import Objective


def levels_of(family: LineFamily, epsilon: float, objective: Objective) -> list[GridLevel]:
    """Levels with chances that sum to 1 for the objective."""
    if objective == "mean" or not isinstance(family, StackFamily):
        return designed_levels(family, epsilon, objective)
    designs = [designed_levels(family, epsilon, objective), designed_levels(family, epsilon, "mean")]
    factors = np.ones(len(family.families))
    for _ in range(STACK_LEVELS.balancing_steps):
        worst = _worst_of_parts(designs[-1], family)
        factors = factors * (worst / worst.max()) ** STACK_LEVELS.balancing_power
        designs.append(designed_levels(family.weighed(factors), epsilon, "mean"))
    return min(designs, key=lambda one: float(_worst_of_parts(one, family).max()))


def _worst_of_parts(levels: Sequence[GridLevel], family: StackFamily) -> Floats:
    """(parts,) the largest w_q Var_q(x) over all types and a few queries of each part."""
    law = GridLaw(levels, family.size)
    worst = []
    for part, share in zip(family.families, family.shares, strict=True):
        queries = part.samples(STACK_LEVELS.compared)
        worst.append(share * max(float(law.variances(part.rows([query])).max()) for query in queries))
    return np.array(worst)
