"""Labels of cells: a random linear map over F₂, a random multiple in GF(2^r), or the cell's residue.

The bits r of a cell are not on the wire: they are the fewest that hold every cell of the partition, and at least 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers.base import cell_codes, cell_number
from sordino_shared.randomizers.coarsened.binary_field import multiply
from sordino_shared.randomizers.coarsened.bit_fields import index_bits
from sordino_shared.randomizers.coarsened.partitions import MAX_ATTRIBUTES, Sizes, cell_count
from sordino_shared.randomness import Randomness

MAX_LABEL_BITS = 16
MAX_LABELS = 1 << MAX_LABEL_BITS


def cell_bits(shape: Sizes) -> int:
    """r, the fewest bits that hold every cell of this shape, and at least 1."""
    return max(1, index_bits(cell_count(shape)))


@dataclass(frozen=True)
class LinearLabel:
    """t = A·c over F₂, A uniform among all matrices of `label_bits` rows of r bits; bit i of t is parity(row i & c).

    Labels of two cells relative to a third are independent, so that moments of sums of cells are exact.
    """

    kind: ClassVar[str] = "linear"
    label_bits: int

    def __post_init__(self) -> None:
        check_range(self.label_bits, 1, MAX_LABEL_BITS, "bits of a label")

    def check(self, shape: Sizes) -> None:
        """Every shape of cells has linear labels."""

    @property
    def count(self) -> int:
        """G, the number of labels."""
        return 1 << self.label_bits

    def word_bits(self, shape: Sizes) -> tuple[int, ...]:
        """Bits of each public word: the rows of A."""
        return (cell_bits(shape),) * self.label_bits

    def draw(self, shape: Sizes, randomness: Randomness) -> list[int]:
        """Uniform rows, one for each bit of the label."""
        return [randomness.bits(bits) for bits in self.word_bits(shape)]

    def label(self, coordinates: Sequence[int], shape: Sizes, words: Sequence[int]) -> int:
        """The label t of a cell."""
        cell = cell_number(coordinates, shape)
        return sum(((row & cell).bit_count() & 1) << bit for bit, row in enumerate(words))

    def minus(self, label: int, shift: int) -> int:
        """t ⊖ z, which is t XOR z; also t ⊖ y for z."""
        return label ^ shift


@dataclass(frozen=True)
class FieldLabel:
    """t = the highest `label_bits` bits of a·c in GF(2^r), a uniform, zero included.

    It is the linear label of a matrix with r bits of randomness: labels of two cells are independent, those of
    two cells relative to a third are not, so that it is for questions about single cells.
    """

    kind: ClassVar[str] = "field"
    label_bits: int

    def __post_init__(self) -> None:
        check_range(self.label_bits, 1, MAX_LABEL_BITS, "bits of a label")

    def check(self, shape: Sizes) -> None:
        """Raise `InvalidValue` where the elements of the field have fewer bits than the label."""
        if cell_bits(shape) < self.label_bits:
            raise InvalidValue(f"cells of {cell_bits(shape)} bits have no labels of {self.label_bits}", self.label_bits)

    @property
    def count(self) -> int:
        """G, the number of labels."""
        return 1 << self.label_bits

    def word_bits(self, shape: Sizes) -> tuple[int, ...]:
        """Bits of the one public word a."""
        return (cell_bits(shape),)

    def draw(self, shape: Sizes, randomness: Randomness) -> list[int]:
        """A uniform multiplier a."""
        return [randomness.bits(cell_bits(shape))]

    def label(self, coordinates: Sequence[int], shape: Sizes, words: Sequence[int]) -> int:
        """The label t of a cell."""
        degree = cell_bits(shape)
        return multiply(words[0], cell_number(coordinates, shape), degree) >> (degree - self.label_bits)

    def minus(self, label: int, shift: int) -> int:
        """t ⊖ z, which is t XOR z; also t ⊖ y for z."""
        return label ^ shift


@dataclass(frozen=True)
class ResidueLabel:
    """t = the mixed-radix number of c_a mod G_a for coordinates c_a; differences are taken axis by axis modulo G_a.

    With one axis a comb of G teeth; with G_a the sizes of slots the cell itself.
    """

    kind: ClassVar[str] = "residue"
    moduli: tuple[int, ...]

    def __post_init__(self) -> None:
        check_range(len(self.moduli), 1, MAX_ATTRIBUTES, "number of moduli")
        for modulus in self.moduli:
            check_range(modulus, 1, MAX_LABELS, "modulus")
        if not 2 <= self.count <= MAX_LABELS:
            raise InvalidValue(f"there are from 2 to {MAX_LABELS} labels, the moduli have {self.count}", self.moduli)

    def check(self, shape: Sizes) -> None:
        """Raise `InvalidValue` unless there is a modulus for each coordinate."""
        if len(self.moduli) != len(shape):
            raise InvalidValue(f"{len(self.moduli)} moduli for cells of {len(shape)} coordinates", self.moduli)

    @property
    def count(self) -> int:
        """G = Π G_a, the number of labels."""
        return math.prod(self.moduli)

    def word_bits(self, shape: Sizes) -> tuple[int, ...]:
        """Nothing is drawn."""
        return ()

    def draw(self, shape: Sizes, randomness: Randomness) -> list[int]:
        """Nothing is drawn."""
        return []

    def label(self, coordinates: Sequence[int], shape: Sizes, words: Sequence[int]) -> int:
        """The label t of a cell."""
        return cell_number([c % g for c, g in zip(coordinates, self.moduli, strict=True)], self.moduli)

    def minus(self, label: int, shift: int) -> int:
        """t ⊖ z, digit by digit modulo G_a; also t ⊖ y for z."""
        digits = zip(cell_codes(label, self.moduli), cell_codes(shift, self.moduli), self.moduli, strict=True)
        return cell_number([(t - z) % g for t, z, g in digits], self.moduli)


Label = LinearLabel | FieldLabel | ResidueLabel
