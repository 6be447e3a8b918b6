"""What every randomizer offers: its law in integers, one sample as a payload of fixed width, its declared size."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

from sordino_shared._checks import check_range
from sordino_shared.errors import InvalidValue
from sordino_shared.randomness import Randomness

# Probabilities are integers over 2^bits; with 62 bits at most, sums of two still fit a signed word.
MIN_BITS = 16
MAX_BITS = 62
MAX_DEVICE_TYPES = 1 << 20


class Randomizer(ABC):
    """A kernel K(y|x) over cells x in [0, size) with a finite alphabet of payloads of one fixed width.

    `accumulator` names what the aggregator adds up: `counts` of outputs, `bit_counts` of bitmap positions, or
    `direction_sums` of signed unit vectors. A device draws one payload here; `sordino_analysis.vectorized` draws and
    checks many at once, and from the same bytes of randomness the same payloads, subsets aside.
    """

    kind: ClassVar[str]
    accumulator: ClassVar[str]

    if TYPE_CHECKING:
        # For readers only: a subclass has a field of this name or derives it, and a field would take a property of
        # the base for its default.
        @property
        def size(self) -> int:
            """Number of cells."""

    @property
    @abstractmethod
    def payload_bytes(self) -> int:
        """Width of one payload."""

    @property
    @abstractmethod
    def accumulator_size(self) -> int:
        """p, the length of the accumulator that the aggregator keeps."""

    @property
    def verified_entries(self) -> int:
        """Cells and rows of which a device holds sums while it verifies the randomizer and answers."""
        return self.size + self.accumulator_size

    @abstractmethod
    def likelihood_ratio(self) -> tuple[int, int] | None:
        """max over outputs and pairs of values of K(y|x)/K(y|x′) as integers (numerator, denominator).

        None when some output is possible for one value and impossible for another: no finite ε.
        """

    @property
    def has_coin(self) -> bool:
        """Whether a part of each payload is public: drawn by the same law whatever the value is."""
        return False

    @abstractmethod
    def randomize(self, cell: int, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        """One payload for one cell. Its public part is read from `coin`, from `randomness` where that is None."""

    def agrees(self, payload: bytes, coin: Randomness) -> bool:
        """Whether the public part of a payload of the alphabet is the one that `coin` gives `randomize`.

        True for every payload that has no public part.
        """
        return True

    def check_domain(self, shape: tuple[int, ...]) -> None:
        """Raise `InvalidValue` unless the randomizer is for the cells of attributes of these sizes."""
        if self.size != math.prod(shape):
            raise InvalidValue(f"the randomizer is for {self.size} types, the domain has {math.prod(shape)}", self.size)

    def randomize_codes(
        self, codes: Sequence[int], shape: tuple[int, ...], randomness: Randomness, coin: Randomness | None = None
    ) -> bytes:
        """One payload for a value of a domain of this shape, with `coin` as in `randomize`.

        `codes` are indices of members, one of each attribute. Here they become a cell number; a randomizer of domains
        that are too large for these overrides it.
        """
        check_codes(codes, shape)
        return self.randomize(cell_number(codes, shape), randomness, coin)

    def _check_cell(self, cell: int) -> None:
        check_range(cell, 0, self.size - 1, "cell")


def check_size(size: int) -> None:
    """A kernel needs at least two types; above MAX_DEVICE_TYPES nothing is materialised."""
    check_range(size, 2, MAX_DEVICE_TYPES, "number of types")


def check_bits(bits: int) -> None:
    """Probabilities are integers over 2^bits."""
    check_range(bits, MIN_BITS, MAX_BITS, "bits")


def check_codes(codes: Sequence[int], shape: tuple[int, ...]) -> None:
    """Each code is an index of a member of its attribute."""
    if len(codes) != len(shape):
        raise InvalidValue(f"a value has {len(codes)} codes, the domain {len(shape)} attributes", len(codes))
    for code, size in zip(codes, shape, strict=True):
        check_range(code, 0, size - 1, "code")


def cell_number(codes: Sequence[int], shape: Sequence[int]) -> int:
    """The number of a cell, mixed radix: the last code varies fastest."""
    cell = 0
    for code, size in zip(codes, shape, strict=True):
        cell = cell * size + code
    return cell


def cell_codes(cell: int, shape: Sequence[int]) -> list[int]:
    """The codes of a cell's number."""
    codes = []
    for size in reversed(shape):
        cell, code = divmod(cell, size)
        codes.append(code)
    return codes[::-1]


def steps(weights: Sequence[int] | memoryview) -> list[int]:
    """Sums of the weights up to each one: a draw falls to the first whose sum is above it.

    All are added up before `bisect_right` looks one up, so that the time of a draw does not tell what was drawn.
    """
    return list(accumulate(weights))


def index_bytes(outputs: int) -> int:
    """Bytes that hold an output index: 1, 2 or 4."""
    return 1 if outputs <= 1 << 8 else 2 if outputs <= 1 << 16 else 4
