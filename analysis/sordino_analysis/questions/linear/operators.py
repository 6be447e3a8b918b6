"""Workload matrices W (Q×k) as linear maps: structured ones multiply without ever being formed."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats, varying_rows
from sordino_shared.errors import InvalidValue

Indices = NDArray[np.intp]

# 512 MiB of doubles: beyond it a design on dense matrices would take minutes and most of a machine.
DENSE_LIMIT = 2**26
# Rows whose entries are looked at together: 32 MiB of doubles.
_BLOCK_ENTRIES = 1 << 22
# Of more bins the ends of all ranges are not listed for a few of them: they are 32 MiB.
_MOST_BINS_WITH_ENDS = 2048
# What rounding leaves between equal sums.
_SAME = 1e-12


class TooLargeForDense(InvalidValue):
    """The matrix has more entries than may be held at once; `value` is the operator."""

    code = "too-large-for-dense"
    advice = "ask fewer queries or a smaller domain, or a kind that is never listed"


class Symmetry(StrEnum):
    """Which relabellings of the types map queries to queries."""

    NONE = "none"
    # Every permutation of the types: the histogram.
    TYPES = "types"
    # Shifts of the members of each attribute, and exchanges of attributes of equal size: parities and marginals.
    ATTRIBUTES = "attributes"


class LinearMap(ABC):
    """A Q×k matrix W known by its products.

    Arguments and results are float arrays; a trailing axis of several vectors is carried along by `matvec` and
    `rmatvec`. `constant_row` is the one query, if any, that has the same answer for all types. `zero_one` promises that
    every entry is 0 or 1; closed forms of variances rest on it.
    """

    constant_row: int | None = None
    symmetry: Symmetry = Symmetry.NONE
    zero_one: bool = False
    # Where rows are the products of all prefix sums of two attributes.
    plane: "tuple[Prefix, Prefix] | None" = None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(Q, k)."""

    @property
    def intervals(self) -> "Prefix | Ranges | None":
        """Where the rows are all prefixes or all ranges of bins: that family, which nothing needs a list of."""
        return None

    @property
    def factored(self) -> "tuple[OneAttribute, ...] | None":
        """A map for each attribute, whose Kronecker product the rows are but for a constant one; None if not known."""
        return None

    @property
    def stacked(self) -> "tuple[tuple[LinearMap, float], ...]":
        """The maps that the rows are of, one after the other, and the weights of their queries in an objective."""
        return ((self, 1.0),)

    def merged(self) -> "MergedTypes | None":
        """The same rows over fewer types, where some are alike in all rows; None where that is not known."""
        return None

    @abstractmethod
    def matvec(self, histogram: Floats) -> Floats:
        """W h for h of shape (k,) or (k, b)."""

    @abstractmethod
    def rmatvec(self, weights: Floats) -> Floats:
        """Wᵀ q for q of shape (Q,) or (Q, b)."""

    @abstractmethod
    def take(self, rows: Indices) -> Floats:
        """The dense block of the rows with these indices, (len(rows), k). `rows` (m,) → (m, k)."""

    @abstractmethod
    def squared_matvec(self, histogram: Floats) -> Floats:
        """(W∘W) h, the mean squares of the answers of users with the `histogram`, (k,) → (Q,), and as of `matvec`."""

    def varying(self) -> Indices:
        """Indices of the rows that are not constant; a built-in kind leaves the constant ones out. Shape (m,)."""
        return np.arange(self.shape[0])

    def varies(self) -> bool:
        """Whether any row is not constant."""
        return len(self.varying()) > 0

    def query_weights(self) -> Floats:
        """(Q,) how many times the variance of each query counts in an objective, 1 on average over those that vary."""
        return np.ones(self.shape[0])

    def answers_of_codes(self, codes: NDArray[np.uint64], shape: tuple[int, ...]) -> Floats:
        """W h for users whose members in attributes of these sizes have these indices, (n, attributes) → (Q,)."""
        cells = np.ravel_multi_index(tuple(codes.T.astype(np.int64)), shape)
        if len(cells) == 1:
            # A product has a column, too, where its types are too many for a histogram.
            return self.column(int(cells[0]))
        # Sums of whole numbers are exact, so that no share is above 1.
        return self.matvec(np.bincount(cells, minlength=self.shape[1]).astype(float)) / len(cells)

    def column(self, cell: int) -> Floats:
        """W e_x, the answers of a user of type x, (Q,)."""
        return self.matvec((np.arange(self.shape[1]) == cell).astype(float))

    def rows(self, start: int, stop: int) -> Floats:
        """The dense block of rows start ≤ q < stop; raises TooLargeForDense above DENSE_LIMIT entries.

        Shape (stop − start, k).
        """
        stop = min(stop, self.shape[0])
        entries = max(stop - start, 0) * self.shape[1]
        if entries > DENSE_LIMIT:
            raise TooLargeForDense(
                f"{stop - start} rows of {self.shape[1]} entries exceed the limit of {DENSE_LIMIT} entries for a "
                "dense block: use matvec and rmatvec, or take fewer rows",
                self,
            )
        return self.take(np.arange(start, stop))

    def dense(self) -> Floats:
        """W itself; raises TooLargeForDense above DENSE_LIMIT entries. Shape (Q, k)."""
        return self.rows(0, self.shape[0])

    def shares(self) -> NDArray[np.bool_]:
        """(Q,) whether every entry of a row is 0 or 1, so that its answer is a share of the users."""
        queries, size = self.shape
        if self.zero_one:
            return np.ones(queries, dtype=bool)
        low, high = self.entry_range()
        # Of entries between 0 and 1 the squares are no less only where all are 0 or 1.
        uneven = np.linspace(1.0, 2.0, size) / size
        same = np.isclose(self.squared_matvec(uneven), self.matvec(uneven), rtol=_SAME, atol=_SAME)
        return np.asarray((low >= 0) & (high <= 1) & same)

    def entry_range(self) -> tuple[Floats, Floats]:
        """(Q,) the least and (Q,) the largest entry of every row."""
        queries, size = self.shape
        if self.zero_one:
            return np.zeros(queries), np.ones(queries)
        step = max(1, _BLOCK_ENTRIES // size)
        blocks = [self.rows(start, start + step) for start in range(0, queries, step)]
        return np.concatenate([b.min(axis=1) for b in blocks]), np.concatenate([b.max(axis=1) for b in blocks])


class ZeroOneMap(LinearMap):
    """A matrix whose entries are all 0 or 1, so that it is its own square entry by entry."""

    zero_one = True

    def squared_matvec(self, histogram: Floats) -> Floats:
        return self.matvec(histogram)


class Dense(LinearMap):
    """A matrix held as an array."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    def matvec(self, histogram: Floats) -> Floats:
        return self.matrix @ histogram

    def rmatvec(self, weights: Floats) -> Floats:
        return self.matrix.T @ weights

    def squared_matvec(self, histogram: Floats) -> Floats:
        return self.matrix**2 @ histogram

    def varying(self) -> Indices:
        return np.flatnonzero(varying_rows(self.matrix))

    def take(self, rows: Indices) -> Floats:
        return self.matrix[rows]


class OneAttribute(ZeroOneMap):
    """Queries of one of the built-in kinds about one attribute: each is a share of the members from one to another."""

    @property
    def factored(self) -> "tuple[OneAttribute, ...]":
        return (self,)

    @abstractmethod
    def row(self, first: int, last: int) -> int:
        """The index of the query about the members first…last."""


class Identity(OneAttribute):
    """The histogram: query x is the share of type x."""

    symmetry = Symmetry.TYPES

    def __init__(self, size: int) -> None:
        self.size = size
        self.constant_row = 0 if size == 1 else None

    def row(self, first: int, last: int) -> int:
        return first

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    def matvec(self, histogram: Floats) -> Floats:
        return histogram.copy()

    def rmatvec(self, weights: Floats) -> Floats:
        return weights.copy()

    def take(self, rows: Indices) -> Floats:
        return np.asarray(rows[:, None] == np.arange(self.size), dtype=float)


class Total(OneAttribute):
    """One query, the share of all types: 1, and of use as a factor that leaves an attribute out."""

    constant_row = 0

    def __init__(self, size: int) -> None:
        self.size = size

    def row(self, first: int, last: int) -> int:
        return 0

    @property
    def shape(self) -> tuple[int, int]:
        return 1, self.size

    def matvec(self, histogram: Floats) -> Floats:
        return np.asarray(histogram.sum(axis=0, keepdims=True))

    def rmatvec(self, weights: Floats) -> Floats:
        return np.repeat(weights, self.size, axis=0)

    def take(self, rows: Indices) -> Floats:
        return np.ones((len(rows), self.size))


class Prefix(OneAttribute):
    """Query j is the share of bins 0…j; members after the last bin (missing, other) are in none of them."""

    def __init__(self, bins: int, size: int) -> None:
        self.bins, self.size = bins, size
        self.constant_row = bins - 1 if bins == size else None

    @property
    def intervals(self) -> "Prefix":
        return self

    def varies(self) -> bool:
        return self.size > 1

    def row(self, first: int, last: int) -> int:
        return last

    @property
    def shape(self) -> tuple[int, int]:
        return self.bins, self.size

    def matvec(self, histogram: Floats) -> Floats:
        return np.cumsum(histogram[: self.bins], axis=0)

    def rmatvec(self, weights: Floats) -> Floats:
        result = np.zeros((self.size, *weights.shape[1:]))
        result[: self.bins] = np.cumsum(weights[::-1], axis=0)[::-1]
        return result

    def take(self, rows: Indices) -> Floats:
        cells = np.arange(self.size)
        return np.asarray((cells <= rows[:, None]) & (cells < self.bins), dtype=float)


class Ranges(OneAttribute):
    """Every interval i…j of bins, in the order (0,0), (0,1), …, (1,1), …; later members are in none of them."""

    def __init__(self, bins: int, size: int) -> None:
        self.bins, self.size = bins, size
        self.constant_row = bins - 1 if bins == size else None

    @property
    def intervals(self) -> "Ranges":
        return self

    def varies(self) -> bool:
        return self.size > 1

    def row(self, first: int, last: int) -> int:
        return first * self.bins - first * (first - 1) // 2 + last - first

    def interval(self, row: int) -> tuple[int, int]:
        """First and last bin of the query with this index, the inverse of `row`."""
        left = self.shape[0] - 1 - row
        after = (isqrt(8 * left + 1) - 1) // 2
        first = self.bins - 1 - after
        return first, first + row - self.row(first, first)

    @property
    def shape(self) -> tuple[int, int]:
        return self.bins * (self.bins + 1) // 2, self.size

    @cached_property
    def ends(self) -> tuple[Indices, Indices]:
        """First and last bin of every query. Shape (Q,) each."""
        first, last = np.triu_indices(self.bins)
        return first, last

    def matvec(self, histogram: Floats) -> Floats:
        first, last = self.ends
        sums = np.zeros((self.bins + 1, *histogram.shape[1:]))
        np.cumsum(histogram[: self.bins], axis=0, out=sums[1:])
        return np.asarray(sums[last + 1] - sums[first])

    def rmatvec(self, weights: Floats) -> Floats:
        first, last = self.ends
        steps = np.zeros((self.size + 1, *weights.shape[1:]))
        np.add.at(steps, first, weights)
        np.subtract.at(steps, last + 1, weights)
        result = np.cumsum(steps, axis=0)[: self.size]
        result[self.bins :] = 0.0
        return result

    def take(self, rows: Indices) -> Floats:
        if self.bins > _MOST_BINS_WITH_ENDS:
            first, last = np.array([self.interval(int(row)) for row in rows], dtype=np.intp).reshape(-1, 2).T
        else:
            first, last = (ends[rows] for ends in self.ends)
        cells = np.arange(self.size)
        return np.asarray((cells >= first[:, None]) & (cells <= last[:, None]), dtype=float)


@dataclass(frozen=True, eq=False)
class MergedTypes:
    """An `operator` whose types are blocks of others; `lengths` has those of the segments of each attribute."""

    operator: LinearMap
    lengths: tuple[Indices, ...]

    def spread(self, histogram: Floats) -> Floats:
        """The shares of blocks (b,) spread evenly over their types, (k,)."""
        cube = histogram.reshape([len(lengths) for lengths in self.lengths])
        for axis, lengths in enumerate(self.lengths):
            each = np.expand_dims(lengths, tuple(range(1, len(self.lengths) - axis)))
            cube = np.repeat(cube / each, lengths, axis=axis)
        return cube.ravel()


class Intervals(ZeroOneMap):
    """Some intervals of types, from `starts` up to but without `stops` (Q,)."""

    def __init__(self, starts: Indices, stops: Indices, size: int) -> None:
        self.starts, self.stops, self.size = starts, stops, size

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts), self.size

    def merged(self) -> MergedTypes | None:
        cuts = np.unique(np.concatenate([[0, self.size], self.starts, self.stops]))
        if len(cuts) > self.size:
            return None
        starts, stops = np.searchsorted(cuts, self.starts), np.searchsorted(cuts, self.stops)
        return MergedTypes(Intervals(starts, stops, len(cuts) - 1), (np.diff(cuts),))

    def matvec(self, histogram: Floats) -> Floats:
        sums = np.zeros((self.size + 1, *histogram.shape[1:]))
        np.cumsum(histogram, axis=0, out=sums[1:])
        return np.asarray(sums[self.stops] - sums[self.starts])

    def rmatvec(self, weights: Floats) -> Floats:
        steps = np.zeros((self.size + 1, *weights.shape[1:]))
        np.add.at(steps, self.starts, weights)
        np.subtract.at(steps, self.stops, weights)
        return np.cumsum(steps, axis=0)[: self.size]

    def take(self, rows: Indices) -> Floats:
        cells = np.arange(self.size)
        return np.asarray((cells >= self.starts[rows, None]) & (cells < self.stops[rows, None]), dtype=float)
