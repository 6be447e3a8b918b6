"""The decoder of grids on categories and two ordered attributes: block-Toeplitz systems on the plane."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.beside_law import LawBeside
from sordino_analysis.evaluation.grids.levels import Pair, Shape
from sordino_analysis.evaluation.grids.plane_category_levels import PlaneCategoryLevel
from sordino_analysis.optimisation.block_toeplitz import BlockToeplitz


@dataclass(frozen=True, eq=False)
class PlaneInverse:
    """M⁻¹ of a block-Toeplitz `matrix`."""

    matrix: BlockToeplitz

    def product(self, vectors: Floats) -> Floats:
        """M⁻¹ v for `vectors` (…, k₁, k₂)."""
        planes = vectors.reshape(-1, *self.matrix.shape)
        return self.matrix.solve_all(planes).reshape(vectors.shape)


@dataclass(frozen=True, eq=False)
class PlaneCategoryLaw(LawBeside[PlaneCategoryLevel, PlaneInverse]):
    """Levels on types of `shape`, as shipped."""

    @property
    def axes(self) -> Shape:
        """The places of the two ordered attributes."""
        return self.levels[0].axes

    @cached_property
    def plane(self) -> Pair:
        """(k₁, k₂)."""
        first, second = self.ordered
        return first, second

    @cached_property
    def factors(self) -> list[float]:
        """f of each level."""
        return [level.factor(self.sizes, self.plane) for level in self.levels]

    @property
    def kernels(self) -> list[Floats]:
        """R (k₁, k₂) of each level on the plane."""
        return [level.plane.kernel(self.plane) for level in self.levels]

    def inverse(self, column: Floats) -> PlaneInverse:
        """Of the block-Toeplitz matrix with this first block column, (k₁, k₂)."""
        return PlaneInverse(BlockToeplitz(column))
