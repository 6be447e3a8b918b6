"""The device half of every mechanism: integer laws, exact samples, declared alphabets."""

from sordino_shared.randomizers.base import Randomizer
from sordino_shared.randomizers.directions import directions
from sordino_shared.randomizers.finite_kernel import DenseRows, FiniteKernel, TwoLevelRows
from sordino_shared.randomizers.randomized_response import RandomizedResponse
from sordino_shared.randomizers.seeded_direction import SeededDirection
from sordino_shared.randomizers.subset_selection import SubsetSelection

AnyRandomizer = RandomizedResponse | SubsetSelection | FiniteKernel | SeededDirection

__all__ = [
    "AnyRandomizer",
    "DenseRows",
    "FiniteKernel",
    "RandomizedResponse",
    "Randomizer",
    "SeededDirection",
    "SubsetSelection",
    "TwoLevelRows",
    "directions",
]
