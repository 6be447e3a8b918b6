"""The decoder of grids on categories and one ordered attribute: Toeplitz systems on the line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.beside_law import LawBeside
from sordino_analysis.evaluation.grids.category_levels import CategoryLevel
from sordino_analysis.evaluation.grids.levels import Shape
from sordino_analysis.optimisation.toeplitz import SymmetricToeplitz, ToeplitzInverse


@dataclass(frozen=True, eq=False)
class CategoryLaw(LawBeside[CategoryLevel, ToeplitzInverse]):
    """Levels on types of `shape`, as shipped."""

    @property
    def axis(self) -> int:
        """The place of the ordered attribute."""
        return self.levels[0].axis

    @property
    def axes(self) -> Shape:
        """Its one place."""
        return (self.axis,)

    @property
    def bins(self) -> int:
        """k of the ordered attribute."""
        return self.shape[self.axis]

    @cached_property
    def factors(self) -> list[float]:
        """f of each level."""
        return [level.factor(self.sizes, self.bins) for level in self.levels]

    @property
    def kernels(self) -> list[Floats]:
        """R (k,) of each level on the line."""
        return [level.kernel(self.bins) for level in self.levels]

    def inverse(self, column: Floats) -> ToeplitzInverse:
        """Of the Toeplitz matrix with this first column, (k,)."""
        return ToeplitzInverse(SymmetricToeplitz(column))
