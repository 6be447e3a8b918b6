"""The trace bound of queries that shifts of all attributes but the pinned one take to one another, orbit by orbit.

Losses of rules whose mistakes cost unequally are such: turning the label over changes what a mistake costs. Let the
types be even but for the pinned attribute, whose two members have the weights π. A query is Σ_T f_T(y) χ_T over sets T
of free attributes, and WᵀDW mixes χ_T only with itself at the two members y. Let G_j be the sum over the sets of j free
attributes of the 2 × 2 matrices of √π_y √π_z f_T(y) f_T(z), averaged over queries and f_∅ without its mean; all N_j
sets have the same by exchange, so the nuclear norm is a sum of two roots of eigenvalues for each, and

    Σ_B weight_B · (mean variance of block B) ≥ (Σ_j √N_j tr √G_j)²/sinh²(ε/2) − Σ_j tr G_j,

or more, where ε is large and singular values differ: each has its x of `bounds.information` with N_j copies.

If a mistake about one member costs five times the other, most types that vary are of that member, and so is the best π.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.optimisation.bounds.information import information_limits, least_variance
from sordino_analysis.optimisation.symmetry.tuning import PINNED_BOUND
from sordino_analysis.questions.linear.widths import CharacterBlock, CharacterMap
from sordino_shared.errors import InvalidValue

# What double precision loses in sums of this length, relative to their largest term.
_ROUNDING = 1e-10


def recheck_pinned(operator: CharacterMap, epsilon: float, block_weights: Floats, member_weight: float) -> float:
    """The bound above for binary attributes, the pinned one last in each block.

    `member_weight` is that of the pinned attribute's second member. Raises InvalidValue for weights (blocks,) that are
    negative or do not sum to 1, and for a member's weight that is not between 0 and 1.
    """
    blocks = operator.blocks
    if not 0 < member_weight < 1:
        raise InvalidValue(f"the weight of a member lies between 0 and 1, got {member_weight}", member_weight)
    if (
        block_weights.shape != (len(blocks),)
        or (block_weights < 0).any()
        or abs(block_weights.sum() - 1) > SUM_TOLERANCE
    ):
        raise InvalidValue("each block of queries has a weight, none is negative, and they sum to 1", block_weights)
    free = len(operator.characters.shape) - 1
    total = np.zeros((operator.characters.width, 2, 2))
    for block, weight in zip(blocks, block_weights.tolist(), strict=True):
        mixed = _mixed(block, np.array([1 - member_weight, member_weight]))
        total[: len(mixed)] += weight * mixed
    sets = np.array([math.comb(free, size) for size in range(len(total))], dtype=float)
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(total), 0.0) / sets[:, None])
    counts = np.repeat(sets, 2)
    return (1 - _ROUNDING) * least_variance(values.ravel(), information_limits(epsilon), counts)


def best_member_weight(operator: CharacterMap, epsilon: float, block_weights: Floats) -> float:
    """The weight of the second member with the largest bound for the blocks' weights (blocks,)."""

    def shortfall(weight: float) -> float:
        return -recheck_pinned(operator, epsilon, block_weights, weight)

    least = PINNED_BOUND.least_weight
    optimum = minimize_scalar(shortfall, bounds=(least, 1 - least), method="bounded", options={"xatol": least / 2})
    return min((0.5, least, 1 - least, float(optimum.x)), key=shortfall)


def _mixed(block: CharacterBlock, members: Floats) -> Floats:
    """(sizes, 2, 2) the weighted products of f_T at the pinned attribute's two members, by size of T."""
    involved = len(block.shape) - 1
    pairs = block.table.reshape(len(block.table), 2**involved, 2)
    # Coefficients without and with the pinned attribute, which is +1 at its first member and −1 at its second.
    values = pairs @ np.array([[1.0, 1.0], [1.0, -1.0]])
    values[:, 0] -= values[:, 0] @ members[:, None]
    weighed = values * np.sqrt(members)
    products = block.weight * np.einsum("rta,rtb->tab", weighed, weighed) / len(weighed)
    moments = np.zeros((involved + 1, 2, 2))
    np.add.at(moments, [number.bit_count() for number in range(2**involved)], products)
    return moments
