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
    """The states (N, n, p): N high types in all, n of them left of the window, the pattern p in it."""

    def __init__(self, windows: Windows, epsilon: float, totals: Integers) -> None:
        self.windows, self.boost, self.totals = windows, float(np.expm1(epsilon)), totals
        self.left = np.arange(int(totals.max()) + 1)
        self.means = 1.0 + self.boost * totals / windows.types
        self.shape = (len(totals), len(self.left), 1 << windows.length)
        self.high = windows.bits.sum(axis=1)

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

    def begin(self, multipliers: Floats) -> Floats:
        """−νᵀv of the first window for every state, ν = `multipliers` (k,); −∞ where there is something left of it."""
        levels = 1.0 + self.boost * self.windows.bits
        values = np.full(self.shape, -np.inf)
        values[:, 0, :] = -levels @ multipliers[: self.windows.length]
        values[:, 0, :][self.high > self.totals[:, None]] = -np.inf
        return values

    def sums(self, cells: Floats, start: int) -> Floats:
        """cellsᵀv in every state, for a query whose window begins at `start`: `cells` (L + 2,)."""
        left, inside, right = cells[0], cells[1:-1], cells[-1]
        behind = self.windows.types - start - self.windows.length
        constant = left * start + inside.sum() + right * behind
        by_pattern = self.boost * (self.windows.bits @ (inside - right))
        by_left = self.boost * (left - right) * self.left
        by_total = constant + self.boost * right * self.totals
        return np.asarray(by_total[:, None, None] + (by_left[:, None] + by_pattern))

    def ends(self, values: Floats) -> Floats:
        """Of `values` (totals, left, patterns) those of the last window's states with nothing right of it: (totals,
        patterns), −∞ where there is none."""
        rest = self.totals[:, None] - self.high
        inside = (rest >= 0) & (rest < len(self.left))
        picked = values[
            np.arange(len(self.totals))[:, None], np.where(inside, rest, 0).astype(int), np.arange(self.shape[2])
        ]
        return np.where(inside, picked, -np.inf)


def largest(windows: Windows, epsilon: float, form: Form, rounding: float = ROUNDING) -> float:
    """max of f over all 2^k rows, each term raised by `rounding`·(|a|ᵀv)²/(λᵀv)."""
    found = -np.inf
    for lattice in Lattice.blocks(windows, epsilon, windows.types):
        values = lattice.begin(form.multipliers)
        for start, queries in enumerate(windows.by_start):
            if start:
                values = _moved(lattice, values, form.multipliers[start + windows.length - 1])
            for query in queries:
                values += _term(lattice, form, int(query), start, rounding)
        found = max(found, float((lattice.ends(values) / lattice.means[:, None]).max()))
    return found


def _moved(lattice: Lattice, values: Floats, multiplier: float) -> Floats:
    """The same, of the better of the two types that may be dropped, with either of those that may be taken in."""
    low, high = values[:, :, 0::2], values[:, :, 1::2]
    best = low.copy()
    np.maximum(best[:, 1:], high[:, :-1], out=best[:, 1:])
    return np.concatenate([best - multiplier, best - multiplier * (1.0 + lattice.boost)], axis=2)


def _term(lattice: Lattice, form: Form, query: int, start: int, rounding: float) -> Floats:
    numerators, weights = form.numerators[query], form.weights[query]
    least = float(weights @ lattice.windows.sizes[query])
    if least <= 0:
        return np.zeros(1)
    # v ≥ 1: states that no row has may have less.
    below = np.maximum(lattice.sums(weights, start), least)
    terms = lattice.sums(numerators, start) ** 2
    if rounding:
        terms += rounding * lattice.sums(np.abs(numerators), start) ** 2
    return np.asarray(terms / below)
