"""One level of shifted grids on k₁ × k₂ types: likelihood ratios, kernels and second moments.

Cells are products of cells of two grids with offsets of their own; a width of 0 leaves an attribute out. Labels are as
on a line: a hashed level's by a random linear map of the cell's number, a comb's residues of both coordinates. A report
of a comb is about the cells of one pair of residues.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.levels import LabelledLevel, Pair, Shape

# Those of the plane; queries may come before them.
_AXES = (-2, -1)


@dataclass(frozen=True, kw_only=True)
class PlaneLevel(LabelledLevel):
    """A level on a plane.

    `residues` (G₁, G₂) with G₁G₂ = G and one hit are those of a comb, 1 for an attribute that is left out; a hashed
    level has none.
    """

    widths: Pair
    residues: Pair | None = None

    @property
    def sets(self) -> Pair | None:
        """Of a comb the lengths of the sides of a report's rectangles; a hashed level has none."""
        return None if self.residues is None else self.widths

    @property
    def periods(self) -> Pair:
        """Lengths after which a comb repeats; 1 on an attribute that is left out."""
        assert self.residues is not None
        first, second = (max(1, width * count) for width, count in zip(self.widths, self.residues, strict=True))
        return first, second

    @property
    def exchanged(self) -> PlaneLevel:
        """The level with the first attribute in the place of the second."""
        residues = None if self.residues is None else self.residues[::-1]
        return replace(self, widths=self.widths[::-1], residues=residues)

    def factor(self, shape: Pair) -> float:
        """f: what a report of the level counts, as on a line."""
        if self.residues is not None:
            return 1.0
        held = math.prod(min(1.0, width / size) for width, size in zip(self.widths, shape, strict=True) if width)
        return 1 / (1 + (self.own_spread / self.spread - 1) * held)

    def kernel(self, shape: Pair) -> Floats:
        """R (k₁, k₂): R_de = E[u_x' − 1 | x] for types at the distances d and e."""
        if self.residues is None:
            sides = [_same_cell(size, width) for size, width in zip(shape, self.widths, strict=True)]
            return np.asarray(self.spread * np.multiply.outer(*sides))
        around = zip(shape, self.widths, self.residues, strict=True)
        both = np.multiply.outer(*[_same_residue(size, width, count) for size, width, count in around])
        return np.asarray((self.high - self.low) ** 2 * (both / self.labels - 1 / self.labels**2))

    def second_moments(self, weights: Floats) -> Floats:
        """E[(Σ β(u−1))² | x] of each query for β (…, k₁, k₂), exactly and for all types: (…, k₁, k₂)."""
        if self.residues is None:
            squares = _window_sums(weights, self.widths) ** 2
            own = _over_types(squares, self.widths, weights.shape)
            shifts = math.prod(max(1, width) for width in self.widths)
            return np.asarray((self.spread * _whole(squares) + (self.own_spread - self.spread) * own) / shifts)
        sums = shift_sums(weights, self.widths, self.periods)
        squares = ((self.low - 1) * _whole(weights) + (self.high - self.low) * sums) ** 2
        repeated = squares
        for axis, width, period in zip(_AXES, self.widths, self.periods, strict=True):
            if width:
                repeated = np.take(repeated, np.arange(weights.shape[axis] + width - 1) % period, axis=axis)
        own = _over_types(repeated, self.widths, weights.shape)
        return np.asarray((self.low * _whole(squares) + (self.high - self.low) * own) / math.prod(self.periods))

    def even_moment(self, weights: Floats) -> Floats:
        """E[(Σ β(u−1))²] of a report whose label is even, whatever its coin, for β (…, k₁, k₂): (…,)."""
        if self.residues is None:
            squares = _window_sums(weights, self.widths) ** 2
            shifts = math.prod(max(1, width) for width in self.widths)
            return np.asarray(self.spread * _whole(squares)[..., 0, 0] / shifts)
        sums = shift_sums(weights, self.widths, self.periods)
        squares = ((self.low - 1) * _whole(weights) + (self.high - self.low) * sums) ** 2
        return np.asarray(_whole(squares)[..., 0, 0] / math.prod(self.periods))


def shift_sums(values: Floats, widths: Shape, periods: Shape) -> Floats:
    """Σ over the set of each of the reports of a comb, (…, P₁, P₂), of `values` (…, k₁, k₂).

    Sets are intervals of the `widths` that repeat after the `periods`, one for each of the last axes; a width of 0 is a
    whole axis.
    """
    sums = _window_sums(values, widths)
    for axis, period in enumerate(periods, start=-len(periods)):
        sums = _folded(sums, period, axis)
    return sums


def _window_sums(values: Floats, widths: Shape) -> Floats:
    for axis, width in enumerate(widths, start=-len(widths)):
        values = windows(values, width, axis)
    return values


def windows(values: Floats, width: int, axis: int) -> Floats:
    """Σ of `width` neighbours on an axis from all starts 1 − width … k − 1; of the whole axis for the width 0.

    Of `values` (…, k, …) the axis has k + width − 1 sums, or one.
    """
    if not width:
        return np.asarray(values.sum(axis=axis, keepdims=True))
    moved = np.moveaxis(values, axis, 0)
    size = len(moved)
    sums = np.cumsum(moved, axis=0)
    found = np.empty((size + width - 1, *moved.shape[1:]))
    found[:size] = sums
    found[size:] = sums[-1]
    found[width:] -= sums[: size - 1]
    return np.moveaxis(found, 0, axis)


def _whole(values: Floats) -> Floats:
    """Σ over the plane of each query, (…, 1, 1)."""
    return np.asarray(values.sum(axis=_AXES, keepdims=True))


def _over_types(squares: Floats, widths: Pair, shape: tuple[int, ...]) -> Floats:
    """Σ over the windows over each type: (…, k₁, k₂) from the values of all windows."""
    found = squares
    for axis, width in zip(_AXES, widths, strict=True):
        if not width:
            continue
        moved = np.moveaxis(found, axis, 0)
        sums = np.cumsum(moved, axis=0)
        inner = sums[width - 1 :].copy()
        inner[1:] -= sums[: len(inner) - 1]
        found = np.moveaxis(inner, 0, axis)
    return np.broadcast_to(found, shape)


def _folded(values: Floats, period: int, axis: int) -> Floats:
    """Σ of the entries whose index on the axis is alike modulo the period."""
    moved = np.moveaxis(values, axis, 0)
    rows = -(-len(moved) // period)
    padded = np.zeros((rows * period, *moved.shape[1:]))
    padded[: len(moved)] = moved
    return np.moveaxis(padded.reshape(rows, period, *moved.shape[1:]).sum(axis=0), 0, axis)


def _same_cell(size: int, width: int) -> Floats:
    """(size,) the chance that two types share a cell, by their distance."""
    distances = np.arange(size, dtype=float)
    return np.maximum(0.0, 1 - distances / width) if width else np.ones(size)


def _same_residue(size: int, width: int, count: int) -> Floats:
    """(size,) the chance that the residues of two types are alike, by their distance."""
    if not width:
        return np.ones(size)
    around = np.arange(size, dtype=float) % (width * count)
    wrapped = np.maximum(0.0, width - (width * count - around))
    return np.asarray((np.maximum(0.0, width - around) + wrapped) / width)
