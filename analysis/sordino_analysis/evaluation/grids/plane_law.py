"""The unbiased decoder of shifted grids on two attributes, and its exact variance for every type.

M = 11ᵀ + Σ p f R is block-Toeplitz. A report of a level counts 1ᵀβ + f Σ_x β_x (u_x − 1) for a query v with Mβ = v, as
the mean of u_x − 1 given x' is R and Mβ = 1·1ᵀβ + Σ p f Rβ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.plane_levels import Pair, PlaneLevel
from sordino_analysis.optimisation.block_toeplitz import BlockToeplitz


@dataclass(frozen=True, eq=False)
class PlaneLaw:
    """Levels on `shape` (k₁, k₂) types, as shipped."""

    levels: Sequence[PlaneLevel]
    shape: Pair

    @cached_property
    def matrix(self) -> BlockToeplitz:
        """M."""
        column = np.ones(self.shape)
        for level in self.levels:
            column += level.chance * level.factor(self.shape) * level.kernel(self.shape)
        return BlockToeplitz(column)

    @cached_property
    def exchangeable(self) -> bool:
        """Whether the two attributes look alike: exchanged, the levels are the same."""
        levels = set(self.levels)
        return self.shape[0] == self.shape[1] and {level.exchanged for level in levels} == levels

    def weights(self, queries: Floats) -> Floats:
        """β (b, k₁, k₂) of queries v (b, k₁, k₂)."""
        return self.matrix.solve_all(queries)

    def bias(self, queries: Floats, weights: Floats) -> Floats:
        """(b,) max_x |E[answer | x] − v_x|, the residual of Mβ = v, for queries v with their β, both (b, k₁, k₂)."""
        return np.asarray(np.abs(self.matrix.product(weights) - queries).max(axis=(-2, -1)))

    def variances(self, queries: Floats, weights: Floats | None = None) -> Floats:
        """(b, k₁, k₂) Var of one report's contribution for each type, of queries v (b, k₁, k₂); exact for any β."""
        beta = self.weights(queries) if weights is None else weights
        found = -((queries - beta.sum(axis=(-2, -1), keepdims=True)) ** 2)
        for level in self.levels:
            found += level.chance * level.factor(self.shape) ** 2 * level.second_moments(beta)
        return np.asarray(np.maximum(found, 0.0))

    def histogram(self, excess: Floats) -> Floats:
        """ĥ (k₁, k₂), unbiased, from Σ_reports f(u_x − 1)/n for every type, `excess` (k₁, k₂)."""
        return self.matrix.solve(1 + excess)
