"""Families of queries of one line of types that are asked all at once: sums over all of them without a list of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.operators import Indices, Intervals, LinearMap, Prefix, Ranges

# What names a query of its family: of an interval [start, stop) its ends.
Query = tuple[int, ...]


class LineFamily(ABC):
    """Queries of `size` types on a line."""

    size: int

    @property
    @abstractmethod
    def count(self) -> int:
        """Q, without the queries that are constant."""

    @abstractmethod
    def gram(self, vectors: Floats) -> Floats:
        """Σ_v w_v v vᵀ u for each of `vectors` u (…, k); a constant query may be among the v."""

    @abstractmethod
    def cell_gram(self, edges: Indices) -> Floats:
        """AᵀGA (m, m) of cells with `edges` (m + 1,), whose shares A spreads evenly over their types; G is `gram`."""

    @abstractmethod
    def squared_distances(self, density: Floats) -> Floats:
        """Σ_v w_v (v_x − ⟨τ, v⟩)² for every type, (k,), for `density` τ (k,) with the sum 1 where a v is constant."""

    @abstractmethod
    def mirrored(self, query: Query) -> Query | None:
        """A query whose variances are those of this one for the types in the opposite order, if there is one.

        Grids and combs look alike from both ends, and so do an interval and what is left of the domain without it.
        """

    @abstractmethod
    def all(self) -> list[Query]:
        """Every query that is not constant, in the order of the workload."""

    @abstractmethod
    def neighbours(self, query: Query, step: int) -> list[Query]:
        """The queries of the family with one end moved by `step`, or both."""

    @abstractmethod
    def samples(self, count: int) -> list[Query]:
        """About `count` of the queries, spread over all and with those at the ends, in a fixed order."""

    @abstractmethod
    def rows(self, queries: Sequence[Query]) -> Floats:
        """The entries of the queries, (b, k)."""

    @abstractmethod
    def place(self, query: Query) -> int:
        """The index of a query in the workload, whose constant row is left out."""

    @abstractmethod
    def operator(self, queries: Sequence[Query]) -> LinearMap:
        """The linear map of these queries."""

    @abstractmethod
    def resized(self, size: int) -> LineFamily:
        """A family like this one over fewer types, without further members."""

    def weights(self, queries: Sequence[Query]) -> Floats:
        """(b,) how many times the variance of each of the queries counts: once, but in a stack."""
        return np.ones(len(queries))

    def listed(self, count: int) -> list[Query]:
        """What is listed where so many queries of each part are, spread over all."""
        return self.samples(count)

    @property
    def parts(self) -> Sequence[LineFamily]:
        """The families that it is made of: itself, but for a stack."""
        return (self,)


@dataclass(frozen=True)
class IntervalFamily(LineFamily):
    """Queries v = 1_[i, j) of `bins` ordered types out of `size`; the types after the bins are in no interval."""

    bins: int
    size: int

    def rows(self, queries: Sequence[Query]) -> Floats:
        places = np.arange(self.size)
        starts, stops = np.array(queries, dtype=np.int64).reshape(-1, 2).T[:, :, None]
        return np.asarray((starts <= places) & (places < stops), dtype=float)

    def operator(self, queries: Sequence[Query]) -> LinearMap:
        starts, stops = np.array(queries, dtype=np.intp).reshape(-1, 2).T
        return Intervals(starts, stops, self.size)

    def resized(self, size: int) -> Self:
        return replace(self, bins=size, size=size)

    def _within(self, vectors: Floats) -> Floats:
        """Of numbers of types those of the bins."""
        return np.asarray(vectors[..., : self.bins])

    def _padded(self, table: Floats) -> Floats:
        whole = np.zeros((*table.shape[:-1], self.size))
        whole[..., : self.bins] = table
        return whole


class PrefixFamily(IntervalFamily):
    """[0, j) for j = 1 … bins, without the one that holds all types."""

    @property
    def count(self) -> int:
        return self.bins - (self.size == self.bins)

    def gram(self, vectors: Floats) -> Floats:
        answers = np.cumsum(self._within(vectors), axis=-1)
        return self._padded(_from_the_end(answers))

    def cell_gram(self, edges: Indices) -> Floats:
        return _of_shares_within(self._bin_gram, edges, self.bins)

    def _bin_gram(self, starts: Indices, widths: Indices) -> Floats:
        # G_ij = b − max(i, j): of two cells the mean place in the later one, of one cell that of the larger of two.
        middles = starts + (widths - 1) / 2
        found = self.bins - np.maximum.outer(middles, middles)
        np.fill_diagonal(found, self.bins - starts - _mean_largest(widths))
        return np.asarray(found)

    def squared_distances(self, density: Floats) -> Floats:
        answers = np.cumsum(self._within(density))
        below = np.concatenate([[0.0], np.cumsum(answers**2)])
        above = np.append(_from_the_end((1 - answers) ** 2), 0.0)
        found = np.full(self.size, below[-1])
        found[: self.bins] = below[:-1] + above[:-1]
        return found

    def mirrored(self, query: Query) -> Query | None:
        _, stop = query
        return (0, self.size - stop) if self.size - stop <= self.count else None

    def place(self, query: Query) -> int:
        return query[1] - 1

    def all(self) -> list[Query]:
        return [(0, stop) for stop in range(1, self.count + 1)]

    def neighbours(self, query: Query, step: int) -> list[Query]:
        _, stop = query
        return [(0, near) for near in (stop - step, stop + step) if 1 <= near <= self.count]

    def samples(self, count: int) -> list[Query]:
        last = self.count
        if not last:
            return []
        spread = np.unique(np.linspace(1, last, min(count, last)).round().astype(int)).tolist()
        return [(0, int(stop)) for stop in sorted({*spread, 1, min(2, last), (last + 1) // 2, max(1, last - 1), last})]


class RangeFamily(IntervalFamily):
    """[i, j) for 0 ≤ i < j ≤ bins, without the one that holds all types."""

    @property
    def count(self) -> int:
        return self.bins * (self.bins + 1) // 2 - (self.size == self.bins)

    def gram(self, vectors: Floats) -> Floats:
        # With sums U_j = u_0 + … + u_{j−1}: Σ_{i ≤ x < j} (U_j − U_i).
        inside = self._within(vectors)
        sums = np.cumsum(inside, axis=-1)
        starts = np.cumsum(sums - inside, axis=-1)
        stops = _from_the_end(sums)
        places = np.arange(1, self.bins + 1)
        return self._padded(places * stops - (self.bins + 1 - places) * starts)

    def cell_gram(self, edges: Indices) -> Floats:
        return _of_shares_within(self._bin_gram, edges, self.bins)

    def _bin_gram(self, starts: Indices, widths: Indices) -> Floats:
        # G_ij = (min(i, j) + 1)·(b − max(i, j)), and the two places in one cell have a product of its own.
        middles, largest = starts + (widths - 1) / 2, _mean_largest(widths)
        least = widths - 1 - largest
        found = (np.minimum.outer(middles, middles) + 1) * (self.bins - np.maximum.outer(middles, middles))
        own = (starts + 1) * (self.bins - starts - largest) + (self.bins - starts) * least - ((widths - 1) / 2) ** 2
        np.fill_diagonal(found, own)
        return np.asarray(found)

    def squared_distances(self, density: Floats) -> Floats:
        inside = self._within(density)
        sums = np.concatenate([[0.0], np.cumsum(inside)])
        ends = self.bins + 1
        squares = ends * float((sums**2).sum()) - float(sums.sum()) ** 2
        places = np.arange(1, ends)
        holding = places * (ends - places)
        interior = self.gram(density)[: self.bins]
        found = np.full(self.size, squares)
        found[: self.bins] = squares + holding - 2 * interior
        return found

    def mirrored(self, query: Query) -> Query | None:
        start, stop = query
        return (self.size - stop, self.size - start) if self.size == self.bins else None

    def place(self, query: Query) -> int:
        whole = Ranges(self.bins, self.size)
        row = whole.row(query[0], query[1] - 1)
        return row - (whole.constant_row is not None and row > whole.constant_row)

    def all(self) -> list[Query]:
        ends = [(start, stop) for start in range(self.bins) for stop in range(start + 1, self.bins + 1)]
        return [one for one in ends if one != (0, self.size)]

    def neighbours(self, query: Query, step: int) -> list[Query]:
        start, stop = query
        moves = ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, 1))
        moved = [(start + step * a, stop + step * b) for a, b in moves]
        return [(a, b) for a, b in moved if 0 <= a < b <= self.bins and b - a < self.size]

    def samples(self, count: int) -> list[Query]:
        lengths = [1 << power for power in range(self.bins.bit_length()) if 1 << power < self.bins]
        each = max(3, count // max(1, len(lengths)))
        # The range of all bins is constant only where there are no types beyond them.
        ends: set[Query] = {(0, self.bins)} if self.bins < self.size else set()
        for length in lengths:
            last = self.bins - length
            starts = np.unique(np.linspace(0, last, min(each, last + 1)).round().astype(int)).tolist()
            ends |= {(int(start), int(start) + length) for start in starts}
        return sorted(ends)


class CellFamily(IntervalFamily):
    """Every type by itself, [x, x + 1); `bins` are all types, those without order too."""

    @property
    def count(self) -> int:
        return self.size

    def gram(self, vectors: Floats) -> Floats:
        return np.array(vectors, dtype=float)

    def cell_gram(self, edges: Indices) -> Floats:
        return np.diag(1 / np.diff(edges))

    def squared_distances(self, density: Floats) -> Floats:
        return np.asarray(1 - 2 * density + float((density**2).sum()))

    def mirrored(self, query: Query) -> Query | None:
        start, stop = query
        return (self.size - stop, self.size - start)

    def place(self, query: Query) -> int:
        return query[0]

    def all(self) -> list[Query]:
        return [(start, start + 1) for start in range(self.size)]

    def neighbours(self, query: Query, step: int) -> list[Query]:
        return [(near, near + 1) for near in (query[0] - step, query[0] + step) if 0 <= near < self.size]

    def samples(self, count: int) -> list[Query]:
        # Variances of neighbouring cells hardly differ.
        return self.listed(max(3, count // 4))

    def listed(self, count: int) -> list[Query]:
        starts = np.unique(np.linspace(0, self.size - 1, min(count, self.size)).round().astype(int)).tolist()
        return [(int(start), int(start) + 1) for start in sorted({*starts, min(1, self.size - 1), self.size // 2})]


def intervals_of(operator: LinearMap) -> IntervalFamily | None:
    """The prefixes or ranges that the rows of an operator are, but for a constant one; None where they are neither."""
    match operator.intervals:
        case Prefix(bins=bins, size=size):
            return PrefixFamily(bins, size)
        case Ranges(bins=bins, size=size):
            return RangeFamily(bins, size)
        case _:
            return None


def _of_shares_within(gram: Callable[[Indices, Indices], Floats], edges: Indices, bins: int) -> Floats:
    """The `gram` (m, m) by starts and widths of what cells have of the bins: the rest of a cell is in no interval."""
    inner = np.minimum(edges, bins)
    widths = np.diff(inner)
    shares = widths / np.diff(edges)
    return np.asarray(gram(inner[:-1], np.maximum(widths, 1)) * np.outer(shares, shares))


def _mean_largest(widths: Indices) -> Floats:
    """(m,) the mean of the larger of two places drawn evenly from 0 … width − 1."""
    return np.asarray((widths - 1) - (widths - 1) * (2 * widths - 1) / (6 * widths))


def _from_the_end(values: Floats) -> Floats:
    """Σ_{j ≥ i} of the last axis."""
    return np.flip(np.cumsum(np.flip(values, axis=-1), axis=-1), axis=-1)
