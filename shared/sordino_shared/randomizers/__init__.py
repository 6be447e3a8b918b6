"""The device half of every mechanism: integer laws, exact samples, declared alphabets."""

from sordino_shared.randomizers.base import Randomizer
from sordino_shared.randomizers.coarsened import (
    Coarsened,
    FieldLabel,
    GridPartition,
    Level,
    LevelFamily,
    LinearLabel,
    ResidueLabel,
    SubsetPartition,
)
from sordino_shared.randomizers.directions import direction
from sordino_shared.randomizers.dithered import Dithered, InnerRandomizer
from sordino_shared.randomizers.finite_kernel import DenseRows, FiniteKernel, TwoLevelRows
from sordino_shared.randomizers.orbit_kernel import BaseRow, OrbitKernel
from sordino_shared.randomizers.pair import Pair
from sordino_shared.randomizers.randomized_response import RandomizedResponse
from sordino_shared.randomizers.seeded_direction import SeededDirection
from sordino_shared.randomizers.subset_mixture import SubsetMixture
from sordino_shared.randomizers.subset_selection import SubsetSelection

AnyRandomizer = (
    RandomizedResponse
    | SubsetSelection
    | SubsetMixture
    | FiniteKernel
    | SeededDirection
    | OrbitKernel
    | Pair
    | Coarsened
    | Dithered
)

__all__ = [
    "AnyRandomizer",
    "BaseRow",
    "Coarsened",
    "DenseRows",
    "Dithered",
    "FieldLabel",
    "FiniteKernel",
    "GridPartition",
    "InnerRandomizer",
    "Level",
    "LevelFamily",
    "LinearLabel",
    "OrbitKernel",
    "Pair",
    "RandomizedResponse",
    "Randomizer",
    "ResidueLabel",
    "SeededDirection",
    "SubsetMixture",
    "SubsetPartition",
    "SubsetSelection",
    "TwoLevelRows",
    "direction",
]
