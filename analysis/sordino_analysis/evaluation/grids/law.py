"""The decoders of shifted grids on a line and on a plane, and the exact variances of their answers.

A report of level ℓ counts t + f_ℓ Σ_x β_x (u_x − 1) for the query v. With M = 11ᵀ + Σ_ℓ p_ℓ f_ℓ R_ℓ, a symmetric
Toeplitz matrix, β = M⁻¹(v − c1) and t = c + 1ᵀβ it is unbiased for each type, for M β = v − c1. The c of least variance
is linear in v: c = ⟨a, v⟩ with Σ a = 1, so that the query of all types has its answer without error. On a plane M is
block-Toeplitz, and c is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.levels import GridLevel, Pair, WindowSums
from sordino_analysis.evaluation.grids.plane_levels import PlaneLevel
from sordino_analysis.optimisation.block_toeplitz import BlockToeplitz
from sordino_analysis.optimisation.toeplitz import SymmetricToeplitz, ToeplitzInverse


@dataclass(frozen=True, eq=False)
class GridLaw:
    """Levels on `size` ordered types, as shipped."""

    levels: Sequence[GridLevel]
    size: int

    @property
    def shape(self) -> tuple[int, ...]:
        """(k,)."""
        return (self.size,)

    @property
    def factors(self) -> list[float]:
        """f of each level."""
        return [level.factor(self.size) for level in self.levels]

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

    def constants(self, queries: Floats, weights: Floats) -> Floats:
        """t (b,) of `queries` v (b, k)."""
        return np.asarray(queries @ self.density)

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


@dataclass(frozen=True, eq=False)
class PlaneLaw:
    """Levels on `shape` (k₁, k₂) types, as shipped."""

    levels: Sequence[PlaneLevel]
    shape: Pair

    @property
    def factors(self) -> list[float]:
        """f of each level."""
        return [level.factor(self.shape) for level in self.levels]

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

    def constants(self, queries: Floats, weights: Floats) -> Floats:
        """t (b,) of queries v with their β, both (b, k₁, k₂)."""
        return np.asarray(weights.reshape(len(queries), -1).sum(axis=1))

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

    def blanket(self, queries: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of what a report with an even label adds to queries v (b, k₁, k₂): (b,) each."""
        beta = self.weights(queries)
        variance = np.zeros(len(queries))
        for level in self.levels:
            variance += level.chance * level.factor(self.shape) ** 2 * level.even_moment(beta)
        return np.asarray(beta.sum(axis=(-2, -1))), variance

    def histogram(self, excess: Floats) -> Floats:
        """ĥ (k₁, k₂), unbiased, from Σ_reports f(u_x − 1)/n for every type, `excess` (k₁, k₂)."""
        return self.matrix.solve(1 + excess)
