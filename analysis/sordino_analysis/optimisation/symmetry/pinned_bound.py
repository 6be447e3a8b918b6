"""The trace bound of queries that shifts of all attributes but the pinned one take to one another, orbit by orbit.

Losses of rules whose mistakes cost unequally are such: turning the label over changes what a mistake costs. With even
types and weights of the blocks, WᵀDW mixes a character χ_T of the free attributes only with χ_T times the pinned one.
Let G_j be the sum over the sets T of j free attributes of these 2 × 2 matrices of squared mean coefficients; all N_j
sets have the same by exchange, so the nuclear norm is a sum of two roots of eigenvalues for each, and

    Σ_B weight_B · (mean variance of block B) ≥ (Σ_j √N_j tr √G_j)²/sinh²(ε/2) − Σ_j tr G_j,

where G_0 is without the constant.
"""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.widths import CharacterBlock, CharacterMap
from sordino_shared.errors import InvalidValue

_ROUNDING = 1e-10


def recheck_pinned(operator: CharacterMap, epsilon: float, block_weights: Floats) -> float:
    """The bound above for binary attributes, the pinned one last in each block, or 0 where it is negative.

    Raises InvalidValue for weights (blocks,) that are negative or do not sum to 1.
    """
    blocks = operator.blocks
    if block_weights.shape != (len(blocks),) or (block_weights < 0).any() or abs(block_weights.sum() - 1) > 1e-9:
        raise InvalidValue("each block of queries has a weight, none is negative, and they sum to 1", block_weights)
    free = len(operator.characters.shape) - 1
    total = np.zeros((operator.characters.width, 2, 2))
    for block, weight in zip(blocks, block_weights.tolist(), strict=True):
        mixed = _mixed(block)
        total[: len(mixed)] += weight * mixed
    sets = np.array([math.comb(free, size) for size in range(len(total))], dtype=float)
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(total), 0.0)).sum(axis=1)
    first = float((np.sqrt(sets) * roots).sum() ** 2 / math.sinh(epsilon / 2) ** 2)
    second = float(np.trace(total, axis1=1, axis2=2).sum())
    return max(0.0, first - second - _ROUNDING * (first + second))


def _mixed(block: CharacterBlock) -> Floats:
    """(sizes, 2, 2) the weighted products of coefficients without and with the pinned attribute, by size of T."""
    involved = len(block.shape) - 1
    pairs = block.table.reshape(len(block.table), 2**involved, 2)
    products = block.weight * np.einsum("rta,rtb->tab", pairs, pairs) / len(pairs)
    products[0, 0, :] = products[0, :, 0] = 0.0
    found = np.zeros((involved + 1, 2, 2))
    np.add.at(found, [number.bit_count() for number in range(2**involved)], products)
    return found
