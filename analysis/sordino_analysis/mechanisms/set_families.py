"""Families of sets that contain every type equally often; each gives a kernel of staircase rows (in {1, e^ε}).

If a family also contains every two types together equally often, a report has the same information about each type as
subset selection of that size, with as many rows as types instead of all subsets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.mechanisms.tuning import SET_FAMILIES
from sordino_analysis.questions.linear.characters import Integers
from sordino_shared.errors import InvalidValue

# Irreducible polynomials over two elements, as bits, for the fields that are not integers modulo a prime.
_POLYNOMIALS = {4: 0b111, 8: 0b1011, 16: 0b10011}
# Orders of fields that are tried.
_ORDERS = (2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19, 23, 29, 31)
# Halves of words of 16 bits: the parity of a word is that of its halves, xored.
_HALVES = (8, 4, 2, 1)


@dataclass(frozen=True, eq=False)
class SetFamily:
    """`members` (m, k): whether each of m sets holds each of k types."""

    members: Mask

    def __post_init__(self) -> None:
        sets_of_type = self.members.sum(axis=0)
        if self.members.ndim != 2 or (sets_of_type != sets_of_type[0]).any():
            raise InvalidValue(
                f"a family holds every type equally often, got {sets_of_type.min()} to {sets_of_type.max()} times", self
            )

    def low(self, epsilon: float) -> float:
        """The weight of a type outside a set, 1/(m + (e^ε − 1)r) where r sets hold each type."""
        return float(1 / (len(self.members) + np.expm1(epsilon) * self.members[:, 0].sum()))

    def kernel(self, epsilon: float) -> Floats:
        """(m, k) probabilities, whose columns sum to one."""
        return np.where(self.members, np.exp(epsilon), 1.0) * self.low(epsilon)

    def over(self, points: Integers) -> SetFamily:
        """The family over types of which each lies at one of this family's points. `points` (k,)."""
        return SetFamily(self.members[:, points])


def hadamard_blocks(types: int, blocks: int) -> SetFamily:
    """The sets {x in block j: ⟨y, i_x⟩ even} for the number i_x ≥ 1 of x in its block and all words y, block by block.

    One block is Hadamard response; 2·blocks near e^ε + 1 is best. Acharya, Sun, Zhang 2019, §5.
    """
    most = -(-types // blocks)
    block, number = np.divmod(np.arange(types), most)
    words = np.arange(1 << most.bit_length())
    inside = block == np.arange(block[-1] + 1)[:, None]
    return SetFamily((inside[:, None] & (_parity(words[:, None] & (number + 1)) == 0)).reshape(-1, types))


def signed_blocks(nodes: Integers, right: Mask, blocks: int) -> SetFamily:
    """Sets of left and right halves of the nodes of a block, as the signs of its Walsh functions say, and the opposite.

    Type x lies in the half `right`[x] of node `nodes`[x]. Each set holds one half of every node of a block, so where
    there is one block reports know of the differences of halves and of nothing else. `nodes` and `right` (k,).
    """
    most = (int(nodes[-1]) + 1) // blocks
    block, number = np.divmod(nodes, most)
    sign = _parity(np.arange(most)[:, None] & number) ^ right.astype(np.int64)
    inside = block == np.arange(blocks)[:, None]
    both = np.stack([sign == 0, sign == 1])
    return SetFamily((inside[:, None, None] & both).reshape(-1, len(nodes)))


def most_informative_family(points: int, epsilon: float) -> SetFamily:
    """Of singletons and affine hyperplanes over F_q (q in _ORDERS), the family with the largest trace of Fisher
    information at uniform weights, over `points` points.
    """
    families = [SetFamily(np.eye(points, dtype=bool))]
    for order in _ORDERS:
        if order < points and _hyperplanes(points, order) <= SET_FAMILIES.most_sets_per_point * points:
            families.append(affine_hyperplanes(points, order))
    return max(families, key=lambda family: _told(family, epsilon))


def affine_hyperplanes(points: int, order: int) -> SetFamily:
    """Hyperplanes of the smallest affine space over the field of `order` elements with so many points, cut to them.

    A share 1/order of the points is in each, and any two points are together in equally many.
    """
    dimension = _dimension(points, order)
    coordinates = np.arange(order**dimension)[:, None] // order ** np.arange(dimension) % order
    first = (coordinates != 0).argmax(axis=1)
    normals = coordinates[coordinates[np.arange(len(coordinates)), first] == 1]
    products = _products(order)
    values = np.zeros((len(normals), points), dtype=np.int64)
    for axis in range(dimension):
        term = products[normals[:, axis, None], coordinates[:points, axis]]
        values = values ^ term if order in _POLYNOMIALS else (values + term) % order
    return SetFamily((values == np.arange(order)[:, None, None]).reshape(-1, points))


def _told(family: SetFamily, epsilon: float) -> float:
    """The trace of the information matrix under equal weights of the points."""
    kernel = family.kernel(epsilon)
    return float(((kernel**2).sum(axis=1) / kernel.mean(axis=1)).sum())


def _hyperplanes(points: int, order: int) -> int:
    return order * int(order ** _dimension(points, order) - 1) // (order - 1)


def _dimension(points: int, order: int) -> int:
    dimension = 1
    while order**dimension < points:
        dimension += 1
    return dimension


def _products(order: int) -> Integers:
    """(order, order) the products of the field's elements."""
    elements = np.arange(order)
    if order not in _POLYNOMIALS:
        return np.outer(elements, elements) % order
    products, shifted = np.zeros((order, order), dtype=np.int64), elements
    for bit in range(order.bit_length() - 1):
        products ^= np.where(elements >> bit & 1, shifted[:, None], 0)
        shifted = shifted << 1
        shifted = np.where(shifted & order, shifted ^ _POLYNOMIALS[order], shifted)
    return products


def _parity(words: Integers) -> Integers:
    """How many of the lowest 16 bits are set, modulo 2."""
    for shift in _HALVES:
        words = words ^ (words >> shift)
    return np.asarray(words & 1)
