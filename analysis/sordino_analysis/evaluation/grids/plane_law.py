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

    def weights(self, query: Floats) -> Floats:
        """β (k₁, k₂) of a query v (k₁, k₂)."""
        return self.matrix.solve(query)

    def bias(self, query: Floats, weights: Floats) -> float:
        """max_x |E[answer | x] − v_x|, the residual of Mβ = v, for the query v and its weights β, both (k1, k2)."""
        return float(np.abs(self.matrix.product(weights) - query).max())

    def variances(self, query: Floats, weights: Floats | None = None) -> Floats:
        """Var of one report's contribution for each type, (k₁, k₂), for a query v; exact for the given β."""
        beta = self.weights(query) if weights is None else weights
        found = -((query - beta.sum()) ** 2)
        for level in self.levels:
            found += level.chance * level.factor(self.shape) ** 2 * level.second_moments(beta)
        return np.asarray(found)

    def histogram(self, excess: Floats) -> Floats:
        """ĥ (k₁, k₂), unbiased, from Σ_reports f(u_x − 1)/n for every type, `excess` (k₁, k₂)."""
        return self.matrix.solve(1 + excess)
