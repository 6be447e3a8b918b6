"""The decoder of shifted grids, and the exact variances of its answers.

A report of level ℓ counts t + f_ℓ Σ_x β_x (u_x − 1) for the query v. With M = 11ᵀ + Σ_ℓ p_ℓ f_ℓ R_ℓ, a symmetric
Toeplitz matrix, β = M⁻¹(v − c1) and t = c + 1ᵀβ it is unbiased for each type, for M β = v − c1. The c of least variance
is linear in v: c = ⟨a, v⟩ with Σ a = 1, so that the query of all types has its answer without error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.levels import GridLevel, WindowSums
from sordino_analysis.optimisation.toeplitz import SymmetricToeplitz, ToeplitzInverse


@dataclass(frozen=True, eq=False)
class GridLaw:
    """Levels on `size` ordered types, as shipped."""

    levels: Sequence[GridLevel]
    size: int

    @cached_property
    def matrix(self) -> SymmetricToeplitz:
        """M."""
        column = np.ones(self.size)
        for level in self.levels:
            column += level.chance * level.factor(self.size) * level.kernel(self.size)
        return SymmetricToeplitz(column)

    @cached_property
    def inverse(self) -> ToeplitzInverse:
        """M⁻¹."""
        return ToeplitzInverse(self.matrix)

    @cached_property
    def _flat(self) -> Floats:
        """M⁻¹1 (k,)."""
        return self.inverse.product(np.ones(self.size))

    @cached_property
    def centre(self) -> Floats:
        """a (k,): the variance of v over users spread evenly, up to the ends of the domain, is least at c = ⟨a, v⟩.

        It is (v − c)ᵀM⁻¹(v − c) − 2B² + 2(v̄ − c)B − mean (v − c)² with B = 1ᵀM⁻¹(v − c), a square in c.
        """
        return np.asarray((2 * self._flat - 1 / self.size) / (2 * self._flat.sum() - 1))

    @cached_property
    def density(self) -> Floats:
        """τ (k,) with t = ⟨τ, v⟩; its sum is 1."""
        return np.asarray(self.centre + self._flat - self.centre * self._flat.sum())

    def weights(self, queries: Floats) -> Floats:
        """β for each of `queries` v (…, k)."""
        return self.inverse.product(queries - (queries @ self.centre)[..., None])

    def bias(self, queries: Floats, weights: Floats) -> Floats:
        """(b,) max_x |E[answer | x] − v_x|, the residual of Mβ = v − c1; `queries` v (b, k), `weights` β (b, m)."""
        left = self.matrix.product(weights) + (queries @ self.centre)[..., None] - queries
        return np.asarray(np.abs(left).max(axis=-1))

    def variances(self, queries: Floats, weights: Floats | None = None) -> Floats:
        """Var of one report's contribution for each type: (b, k) for `queries` (b, k); exact for the given β."""
        beta = self.weights(queries) if weights is None else weights
        steps, sums = np.zeros(beta.shape), WindowSums.of(beta)
        for level in self.levels:
            steps += level.chance * level.factor(self.size) ** 2 * level.moment_steps(sums)
        return np.asarray(np.cumsum(steps, axis=1) - (queries - (queries @ self.density)[:, None]) ** 2)

    def blanket(self, queries: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of what a report with an even label adds to each of `queries` (b, k): (b,) each."""
        sums, variance = WindowSums.of(self.weights(queries)), np.zeros(len(queries))
        for level in self.levels:
            variance += level.chance * level.factor(self.size) ** 2 * level.even_moment(sums)
        return queries @ self.density, variance

    def histogram(self, excess: Floats) -> Floats:
        """ĥ (k,), unbiased and of sum 1, from Σ_reports f(u_x − 1)/n for every type, `excess` (k,)."""
        found = self.inverse.product(1 + excess)
        return np.asarray(found + self.centre * (1 - found.sum()))
