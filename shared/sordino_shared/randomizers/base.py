"""What every randomizer offers: its law in integers, its samples as fixed-width payloads, its declared alphabet."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

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
    `direction_sums` of signed unit vectors.
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

    @abstractmethod
    def randomize_many(self, cells: NDArray[np.int64], randomness: Randomness) -> NDArray[np.uint8]:
        """(n, payload_bytes) payloads, one independent draw for each of the (n,) cells."""

    @abstractmethod
    def in_alphabet(self, payloads: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """(n,) whether each of the (n, payload_bytes) payloads is one that some value can produce."""

    def check_domain(self, shape: tuple[int, ...]) -> None:
        """Raise `InvalidValue` unless the randomizer is for the cells of attributes of these sizes."""
        if self.size != math.prod(shape):
            raise InvalidValue(f"the randomizer is for {self.size} types, the domain has {math.prod(shape)}", self.size)

    def randomize_codes(
        self, codes: NDArray[np.uint64], shape: tuple[int, ...], randomness: Randomness
    ) -> NDArray[np.uint8]:
        """(n, payload_bytes) payloads, one independent draw for each value of a domain of this shape.

        `codes` (n, attributes) are indices of members. Here they become cell numbers; a randomizer of domains that are
        too large for these overrides it.
        """
        self._check_codes(codes, shape)
        cells = np.zeros(len(codes), dtype=np.int64)
        for place, size in enumerate(shape):
            cells = cells * size + codes[:, place].astype(np.int64)
        return self.randomize_many(cells, randomness)

    def randomize(self, cell: int, randomness: Randomness) -> bytes:
        """One payload for one cell."""
        payloads = self.randomize_many(np.array([cell], dtype=np.int64), randomness)
        return bytes(payloads[0])

    def _check_cells(self, cells: NDArray[np.int64]) -> None:
        whole = cells.ndim == 1 and cells.dtype == np.int64
        if not whole or (cells.size and (cells.min() < 0 or cells.max() >= self.size)):
            raise InvalidValue(f"cells must be a vector of 64-bit integers from 0 to {self.size - 1}", cells)

    def _check_codes(self, codes: NDArray[np.uint64], shape: tuple[int, ...]) -> None:
        whole = codes.ndim == 2 and codes.dtype == np.uint64 and codes.shape[1] == len(shape)
        if not whole or (codes > np.array([size - 1 for size in shape], dtype=np.uint64)).any():
            raise InvalidValue(f"codes must be rows of unsigned 64-bit integers below the sizes {shape}", codes)

    def _check_payloads(self, payloads: NDArray[np.uint8]) -> None:
        if payloads.ndim != 2 or payloads.shape[1] != self.payload_bytes or payloads.dtype != np.uint8:
            raise InvalidValue(f"payloads must be an (n, {self.payload_bytes}) array of bytes", payloads.shape)


def check_size(size: int) -> None:
    """A kernel needs at least two types; above MAX_DEVICE_TYPES nothing is materialised."""
    check_range(size, 2, MAX_DEVICE_TYPES, "number of types")


def check_bits(bits: int) -> None:
    """Probabilities are integers over 2^bits."""
    check_range(bits, MIN_BITS, MAX_BITS, "bits")


def index_bytes(outputs: int) -> int:
    """Bytes that hold an output index: 1, 2 or 4."""
    return 1 if outputs <= 1 << 8 else 2 if outputs <= 1 << 16 else 4


def pack_indices(indices: NDArray[Any], width: int) -> NDArray[np.uint8]:
    """(n, width) little-endian bytes of (n,) output indices."""
    words = np.ascontiguousarray(indices, dtype="<u4").view(np.uint8).reshape(-1, 4)
    return np.ascontiguousarray(words[:, :width])


def unpack_indices(payloads: NDArray[np.uint8]) -> NDArray[np.int64]:
    """(n,) output indices of (n, width) little-endian bytes."""
    words = np.zeros((len(payloads), 4), dtype=np.uint8)
    words[:, : payloads.shape[1]] = payloads
    return words.view("<u4").reshape(-1).astype(np.int64)
