"""The bound of odd workloads for symmetric queries: one number for each block of queries, whatever the domain.

A shift by a, which is 1 on the binary attributes of some exchange kinds and 0 elsewhere, turns χ_S into (−1)^m χ_S
with m the attributes of these kinds in S. Where m is odd for every character that the queries use they are odd under
the shift, up to constants. With even types and weights of the blocks, characters diagonalise the queries, so the
nuclear norm of `odd.recheck_odd` is a sum over the orbits: with N_o characters in orbit o, and n_o the squares of the
mean query's coefficients there,

    Σ_B weight_B · (mean variance of block B) ≥ Σ_o n_o (1/λ_o − 1) ≥ (Σ_o √(N_o n_o))²/s²(ε) − Σ_o n_o

for λ_o = min(tanh²(ε/2), μ√(n_o/N_o)) with Σ_o N_o λ_o ≤ s²(ε).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.optimisation.bounds.information import least_variance
from sordino_analysis.optimisation.bounds.odd import odd_limits
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.questions.linear.characters import Kind, OrbitKey
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_shared.errors import InvalidValue

# Subsets of the kinds of binary attributes are tried one by one; there are one or two kinds.
_MOST_KINDS = 8
# What double precision loses in sums of this length, relative to their largest term.
_ROUNDING = 1e-10


def odd_under_a_shift(operator: CharacterMap) -> bool:
    """Whether some shift takes every query to its negative, up to constants."""
    used = query_fourier_weights(operator).by_orbit.max(axis=0) > 0
    keys = [key for key, needed in zip(operator.characters.orbits, used, strict=True) if needed]
    return any(all(_count(key, kinds) % 2 for key in keys) for kinds in _choices(keys))


def recheck_odd_characters(operator: CharacterMap, epsilon: float, block_weights: Floats) -> float | None:
    """The bound above; None where no shift makes the queries odd.

    Raises InvalidValue for weights that are negative or do not sum to 1. `block_weights` (blocks,).
    """
    needs, sizes = query_fourier_weights(operator), operator.characters.orbit_sizes
    if (
        block_weights.shape != needs.shares.shape
        or (block_weights < 0).any()
        or abs(block_weights.sum() - 1) > SUM_TOLERANCE
    ):
        raise InvalidValue("each block of queries has a weight, none is negative, and they sum to 1", block_weights)
    if not odd_under_a_shift(operator):
        return None
    needed = block_weights @ needs.by_orbit
    return (1 - _ROUNDING) * least_variance(np.sqrt(needed / sizes), odd_limits(epsilon), sizes)


def _choices(keys: list[OrbitKey]) -> Iterator[tuple[Kind, ...]]:
    """Sets of kinds of attributes, of which only binary ones have a shift that negates."""
    kinds = sorted({kind for key in keys for kind, _ in key})
    binary = [kind for kind in kinds if kind[0] == 2][:_MOST_KINDS]
    for count in range(1, len(binary) + 1):
        yield from combinations(binary, count)


def _count(key: OrbitKey, kinds: tuple[Kind, ...]) -> int:
    return sum(kind in kinds for kind, _ in key)
