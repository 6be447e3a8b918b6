"""All 2^k rows of a kernel at once, for a function that is a sum over windows: the largest value is a longest path.

Over k ordered types let every query j have a threshold, a window of L types around it, and cells: all types left of
the window, each type of it, all types right of it. For v ∈ {1, e^ε}^k and a, λ ≥ 0 that are constant on each cell,

    f(v) = [Σ_j (a_jᵀv)² / (λ_jᵀv) − νᵀv] / mean(v)

depends, query by query, only on the pattern of high types in the window, on their number left of it and on their number
N in all. For fixed N a window that moves by one drops one type and takes in one, so the largest f is found by dynamic
programming over windows, patterns and numbers; with sums in place of maxima, so is log Σ_v exp(f(v)/τ) and its slopes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats

Integers = NDArray[np.int64]
# Relative to (|a|ᵀv)²/(λᵀv): what rounding may take from a term of a certificate.
ROUNDING = 1e-12
# Entries of the arrays of one block of numbers N.
_BLOCK = 1 << 17


@dataclass(frozen=True, eq=False)
class Windows:
    """Where the windows of L = `length` types are, over `types` k: `starts` (Q,) increase with the thresholds."""

    types: int
    length: int
    starts: Integers

    @classmethod
    def around(cls, thresholds: Integers, types: int, length: int) -> Windows:
        """Half a window left of each of `thresholds` (Q,) t, between types t − 1 and t; shifted inward at the ends."""
        return cls(types, length, np.clip(thresholds - length // 2, 0, types - length))

    @cached_property
    def sizes(self) -> Floats:
        """(Q, L + 2) how many types each cell has."""
        ones = np.ones((len(self.starts), self.length))
        return np.column_stack([self.starts, ones, self.types - self.starts - self.length]).astype(float)

    def spread(self, cells: Floats) -> Floats:
        """(Q, k) what each type has of numbers (Q, L + 2) that are constant on cells."""
        return np.asarray(np.take_along_axis(cells, self._places, axis=1))

    def totals(self, by_type: Floats) -> Floats:
        """(Q, L + 2) the sums over cells of numbers of every type (Q, k)."""
        return np.asarray(np.einsum("qk,qkc->qc", by_type, self._in_cell))

    @cached_property
    def _in_cell(self) -> Floats:
        """(Q, k, L + 2) whether a type is in a cell."""
        return np.asarray(self._places[:, :, None] == np.arange(self.length + 2), dtype=float)

    @cached_property
    def _places(self) -> Integers:
        """(Q, k) the cell of every type."""
        places: Integers = np.clip(np.arange(self.types) - self.starts[:, None] + 1, 0, self.length + 1)
        return places

    @cached_property
    def by_start(self) -> list[Integers]:
        """The queries (n,) of every window position 0 … k − L."""
        return [np.flatnonzero(self.starts == start) for start in range(self.types - self.length + 1)]

    @cached_property
    def bits(self) -> Floats:
        """(2^L, L) which types of the window a pattern has high."""
        return ((np.arange(1 << self.length)[:, None] >> np.arange(self.length)) & 1).astype(float)


@dataclass(frozen=True, eq=False)
class Form:
    """a and λ on cells (Q, L + 2), and ν (k,)."""

    numerators: Floats
    weights: Floats
    multipliers: Floats


class Lattice:
    """The states (p, n, N): the pattern p in the window, n high types left of it, N high types in all.

    Arrays of states have the shape (2^L, most N + 1, number of N), patterns first, so that dropping a type and taking
    one in move blocks of memory.
    """

    def __init__(self, windows: Windows, epsilon: float, totals: Integers) -> None:
        self.windows, self.epsilon, self.totals = windows, epsilon, totals
        self.boost = float(np.expm1(epsilon))
        self.left = np.arange(int(totals.max()) + 1)
        self.means = 1.0 + self.boost * totals / windows.types
        self.high = windows.bits.sum(axis=1)
        self.shape = (len(self.high), len(self.left), len(totals))

    @classmethod
    def blocks(cls, windows: Windows, epsilon: float, most: int) -> Iterator[Lattice]:
        """Lattices of all N = 0 … `most`, a few at a time so that their arrays stay small; no arrays are given."""
        start = 0
        while start <= most:
            stop = start + 1
            while stop <= most and (stop + 1 - start) * (stop + 1) << windows.length <= _BLOCK:
                stop += 1
            yield cls(windows, epsilon, np.arange(start, stop))
            start = stop

    @cached_property
    def features(self) -> Floats:
        """(L + 3, states) one, n, N, and the L bits of p: sums over a row's types are linear in them."""
        pattern, left, place = (axis.ravel() for axis in np.indices(self.shape))
        ones = np.ones(len(pattern))
        return np.vstack([ones, left, self.totals[place], self.windows.bits[pattern].T])

    def coefficients(self, cells: Floats, queries: Integers) -> Floats:
        """(n, L + 3) what cellsᵀv has of the features for `queries` (n,), whose numbers are `cells` (Q, L + 2)."""
        own = cells[queries]
        left, inside, right = own[:, :1], own[:, 1:-1], own[:, -1:]
        constant = (own * self.windows.sizes[queries]).sum(axis=1, keepdims=True)
        return np.hstack([constant, self.boost * np.hstack([left - right, right, inside - right])])

    def begin(self, multipliers: Floats) -> Floats:
        """−νᵀv of the first window for every state, ν = `multipliers` (k,); −∞ where there is something left of it."""
        levels = 1.0 + self.boost * self.windows.bits
        costs = levels @ multipliers[: self.windows.length]
        values = np.full(self.shape, -np.inf)
        values[:, 0, :] = np.where(self.high[:, None] > self.totals, -np.inf, -costs[:, None])
        return values

    def ends(self, values: Floats) -> Floats:
        """Of `values` of all states those of the last window's with nothing right of it: (2^L, number of N), −∞ where
        there is none."""
        rest = self.totals - self.high[:, None]
        picked = np.take_along_axis(values, self.last_left[:, None, :], axis=1)[:, 0]
        return np.where((rest >= 0) & (rest < len(self.left)), picked, -np.inf)

    @cached_property
    def last_left(self) -> Integers:
        """(2^L, number of N) the n of a row that has nothing right of the last window; 0 where there is none."""
        rest = self.totals - self.high[:, None]
        return np.where((rest >= 0) & (rest < len(self.left)), rest, 0).astype(np.int64)


def largest(windows: Windows, epsilon: float, form: Form, rounding: float = ROUNDING) -> float:
    """max of f over all 2^k rows, each term raised by `rounding`·(|a|ᵀv)²/(λᵀv)."""
    found = -np.inf
    for lattice in Lattice.blocks(windows, epsilon, windows.types):
        values = lattice.begin(form.multipliers)
        for start, queries in enumerate(windows.by_start):
            if start:
                values = _moved(lattice, values, form.multipliers[start + windows.length - 1])
            if len(queries):
                values += _terms(lattice, form, queries, rounding).reshape(lattice.shape)
        found = max(found, float((lattice.ends(values) / lattice.means).max()))
    return found


def _moved(lattice: Lattice, values: Floats, multiplier: float) -> Floats:
    """The same, of the better of the two types that may be dropped, with either of those that may be taken in."""
    best = values[0::2].copy()
    np.maximum(best[:, 1:], values[1::2, :-1], out=best[:, 1:])
    return np.concatenate([best - multiplier, best - multiplier * (1.0 + lattice.boost)])


def _terms(lattice: Lattice, form: Form, queries: Integers, rounding: float) -> Floats:
    """(states,) the sum of the terms of `queries` (n,)."""
    least = (form.weights * lattice.windows.sizes).sum(axis=1)
    queries = queries[least[queries] > 0]
    # v ≥ 1: states that no row has may have less.
    below = np.maximum(lattice.coefficients(form.weights, queries) @ lattice.features, least[queries, None])
    terms = (lattice.coefficients(form.numerators, queries) @ lattice.features) ** 2
    if rounding:
        terms += rounding * (lattice.coefficients(np.abs(form.numerators), queries) @ lattice.features) ** 2
    return np.asarray((terms / below).sum(axis=0))
