"""One level of shifted grids on k ordered types: likelihood ratios, kernels and second moments.

A level draws an offset o below the width w, evenly, and x lies in cell ⌊(x + o)/w⌋. A hashed level labels cells by a
random linear map, so that labels of three cells are independent of each other up to a shift; a comb labels cell c with
c mod G. A report is a set of labels, `hits` of G, that holds the type's own with more chance, and its set of types are
those whose label it has. u_x is `high` for the types in the set and `low` for the others: the chance of the report
given x over that of an even draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sordino_analysis.arrays import Floats

Pair = tuple[int, int]
Shape = tuple[int, ...]


class CellLevel(Protocol):
    """What sums over reports and drawn laws need of a level on any number of attributes.

    A width of 0 leaves an attribute out. `sets` has the lengths of the sides of a comb's sets, `periods` those after
    which it repeats, 1 on an attribute that is left out; a hashed level has no sets.
    """

    @property
    def chance(self) -> float:
        """p."""

    @property
    def widths(self) -> Shape:
        """Of each attribute."""

    @property
    def sets(self) -> Shape | None:
        """None of a hashed level."""

    @property
    def periods(self) -> Shape:
        """Of a comb."""

    @property
    def density(self) -> float:
        """q."""

    @property
    def high(self) -> float:
        """u in the set."""

    @property
    def low(self) -> float:
        """u outside."""


@dataclass(frozen=True, kw_only=True)
class LabelledLevel:
    """A level with its `chance`; `high` and `low` have the mean 1 over the G labels of which `hits` are high."""

    chance: float
    labels: int
    hits: int
    high: float
    low: float

    @property
    def density(self) -> float:
        """q, the share of labels in a report's set."""
        return self.hits / self.labels

    @property
    def spread(self) -> float:
        """s₀ = E(u−1)² at a type whose label is even: off the holder's cell, or anywhere on a comb."""
        return self.density * (self.high - 1) ** 2 + (1 - self.density) * (self.low - 1) ** 2

    @property
    def own_spread(self) -> float:
        """s₁ = E(u−1)² in the holder's own cell."""
        own = self.density * self.high
        return own * (self.high - 1) ** 2 + (1 - own) * (self.low - 1) ** 2


@dataclass(frozen=True, kw_only=True)
class GridLevel(LabelledLevel):
    """A level on a line: a plane with one side of 1, whose second attribute is left out.

    `counts` is what a report of it counts where the plan says so.
    """

    width: int
    hashed: bool
    counts: float | None = None

    @property
    def widths(self) -> Pair:
        """As on a plane."""
        return self.width, 0

    @property
    def sets(self) -> Pair | None:
        """Of a comb the lengths of the intervals of a report; a hashed level has none."""
        return None if self.hashed else (self.window, 0)

    @property
    def periods(self) -> Pair:
        """Lengths after which a comb repeats; 1 on an attribute that is left out."""
        return self.period, 1

    def factor(self, size: int) -> float:
        """f: what a report of the level counts. 1/f is the mean of (second moment)/(that off the holder's cell).

        This is best for the mean over all types; a plan for the largest variance has numbers of its own.
        """
        if self.counts is not None:
            return self.counts
        if not self.hashed:
            return 1.0
        return 1 / (1 + (self.own_spread / self.spread - 1) * min(1.0, self.width / size))

    def kernel(self, size: int) -> Floats:
        """R (k,): R_d = E[u_x' − 1 | x] for |x − x'| = d."""
        distances = np.arange(size, dtype=float)
        if self.hashed:
            return np.asarray(self.spread * np.maximum(0.0, 1 - distances / self.width))
        period, wide = self.period, self.window
        around = distances % period
        both = np.maximum(0, wide - around) + np.maximum(0, wide - (period - around))
        return np.asarray((self.high - self.low) ** 2 * (both / period - self.density**2))

    @property
    def window(self) -> int:
        """Length of the intervals that a comb's report consists of."""
        return self.width * self.hits

    @property
    def period(self) -> int:
        """Length after which a comb repeats."""
        return self.width * self.labels

    def second_moments(self, sums: WindowSums) -> Floats:
        """E[(Σ β(u−1))² | x] for each β of the `sums` (…, k), exactly and for all types: (…, k)."""
        return np.asarray(np.cumsum(self.moment_steps(sums), axis=-1))

    def even_moment(self, sums: WindowSums) -> Floats:
        """E[(Σ β(u−1))²] of a report whose label is even, whatever its coin, for each β of the `sums`: (…,)."""
        if self.hashed:
            return np.asarray(self.spread / self.width * (sums.windows(self.width) ** 2).sum(axis=-1))
        in_sets = folded(sums.windows(self.window), self.period)
        shifts = ((self.low - 1) * sums.total + (self.high - self.low) * in_sets) ** 2
        return np.asarray(shifts.sum(axis=-1) / self.period)

    def moment_steps(self, sums: WindowSums) -> Floats:
        """The second moment of type 0, and the steps from each type to the next: (…, k).

        What a report adds beyond the common part comes from the windows over the type. Between two types one window
        begins and one ends, so that steps of all levels are added before they are summed up once.
        """
        if self.hashed:
            squares = sums.windows(self.width)
            squares *= squares
            return self._steps(squares, squares.sum(axis=-1), self.spread, self.own_spread - self.spread, self.width)
        in_sets = folded(sums.windows(self.window), self.period)
        shifts = ((self.low - 1) * sums.total + (self.high - self.low) * in_sets) ** 2
        squares = np.take(shifts, np.arange(sums.size + self.window - 1) % self.period, axis=-1)
        return self._steps(squares, shifts.sum(axis=-1), self.low, self.high - self.low, self.period)

    def _steps(self, squares: Floats, total: Floats, common: float, own: float, shifts: int) -> Floats:
        """(common·total + own·(sum over the windows over x))/shifts as steps, for `squares` of windows in order."""
        wide = self.width if self.hashed else self.window
        steps = squares[..., wide - 1 :].copy()
        steps[..., 1:] -= squares[..., : steps.shape[-1] - 1]
        steps[..., 0] = squares[..., :wide].sum(axis=-1)
        steps *= own / shifts
        steps[..., 0] += common / shifts * total
        return np.asarray(steps)


@dataclass(frozen=True, eq=False)
class WindowSums:
    """Cumulative sums (…, k + 1) of numbers β of types, from 0: differences are sums over intervals."""

    sums: Floats

    @classmethod
    def of(cls, weights: Floats) -> WindowSums:
        """From β (…, k)."""
        sums = np.zeros((*weights.shape[:-1], weights.shape[-1] + 1))
        np.cumsum(weights, axis=-1, out=sums[..., 1:])
        return cls(sums)

    @property
    def size(self) -> int:
        """k."""
        return int(self.sums.shape[-1] - 1)

    @property
    def total(self) -> Floats:
        """Σ β, (…, 1)."""
        return self.sums[..., -1:]

    def windows(self, width: int) -> Floats:
        """Σ_{c ≤ x < c + width} β_x for c = 1 − width … k − 1: (…, k + width − 1)."""
        found = np.empty((*self.sums.shape[:-1], self.size + width - 1))
        found[..., : self.size] = self.sums[..., 1:]
        found[..., self.size :] = self.total
        found[..., width - 1 :] -= self.sums[..., :-1]
        return found


def inner_sums(values: Floats, width: int) -> Floats:
    """Σ of `width` neighbours: (…, k) from (…, k + width − 1). The windows over x begin at x − width + 1 … x."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return np.asarray(sums[..., width:] - sums[..., :-width])


def folded(values: Floats, period: int) -> Floats:
    """Σ of the entries whose index is alike modulo the period: (…, period)."""
    rows = -(-values.shape[-1] // period)
    padded = np.zeros((*values.shape[:-1], rows * period))
    padded[..., : values.shape[-1]] = values
    return np.asarray(padded.reshape(*values.shape[:-1], rows, period).sum(axis=-2))
