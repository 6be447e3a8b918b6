"""The histogram nearest to an unbiased one by all prefixes or all ranges, in closed form, and its derivative.

With d = F − F_y at the edges 0 … b of b bins, all ranges together are off by Σ_{e<e'} (d_e' − d_e)², which is
(b + 1)·min_c Σ_e (d_e − c)², and all prefixes by Σ d_e². For a given c the nearest monotone F in [0, 1] is the monotone
regression of F_y + c, cut at 0 and 1, which is that of F_y moved by c; c is the root of a falling function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.best.measured import MeasuredHistogram
from sordino_analysis.evaluation.grids.families import IntervalFamily, RangeFamily
from sordino_analysis.questions.linear.operators import Indices

# Halvings that leave a shift of 1e-15.
_HALVINGS = 60


@dataclass(frozen=True, eq=False, kw_only=True)
class MonotoneProjection:
    """The nearest `histogram` (k,) to an unbiased one, where F is level on blocks that begin at `starts` (blocks,).

    F is between 0 and 1 on the blocks that are `free` (blocks,), and at either of these on the others. `fixed` edges
    have no block: 0, and the last one where no type is beyond the bins. `shifted` says that F moves as a whole, too.
    """

    histogram: Floats
    starts: Indices
    lengths: Indices
    free: NDArray[np.bool_]
    fixed: int
    shifted: bool

    @classmethod
    def of(cls, family: IntervalFamily, unbiased: Floats) -> Self:
        """Of an unbiased histogram (k,) of sum 1."""
        beyond, shifted = unbiased[family.bins :], isinstance(family, RangeFamily)
        edges = family.bins if len(beyond) else family.bins - 1
        function = np.cumsum(unbiased)[:edges]
        fixed = 1 if len(beyond) else 2
        if not edges:
            none = np.zeros(0, dtype=np.intp)
            free = np.zeros(0, dtype=bool)
            return cls(histogram=np.ones(1), starts=none, lengths=none, free=free, fixed=fixed, shifted=shifted)
        found = isotonic_regression(function)
        starts, lengths = np.asarray(found.blocks[:-1], dtype=np.intp), np.diff(found.blocks)
        means = found.x[starts]
        apart = np.add.reduceat(function, starts)
        shift = _shift(means, lengths, apart, fixed) if shifted else 0.0
        levels = np.clip(means + shift, 0.0, 1.0)
        shares = np.zeros(len(unbiased))
        shares[:edges] = np.diff(np.repeat(levels, lengths), prepend=0.0)
        rest = max(0.0, 1.0 - float(levels[-1]))
        if len(beyond):
            positive = np.maximum(beyond, 0.0)
            shares[edges:] = rest * (positive / positive.sum() if positive.sum() > 0 else 1 / len(beyond))
        else:
            shares[-1] = rest
        free = (means + shift > 0) & (means + shift < 1)
        return cls(histogram=shares, starts=starts, lengths=lengths, free=free, fixed=fixed, shifted=shifted)

    def derivative(self, vectors: Floats) -> Floats:
        """How F moves with F_y: J v for each of `vectors` (…, edges)."""
        if not len(self.starts):
            return np.zeros_like(vectors)
        sums = np.add.reduceat(vectors, self.starts, axis=-1)
        moved = sums / self.lengths
        if self.shifted:
            held = ~self.free
            count = self.fixed + int(self.lengths[held].sum())
            moved = moved - sums[..., held].sum(axis=-1, keepdims=True) / count
        return np.repeat(np.where(self.free, moved, 0.0), self.lengths, axis=-1)

    def response(self, measured: MeasuredHistogram) -> float:
        """tr(G J S) of one report: how the nearest histogram goes with the errors of the queries."""
        edges = int(self.lengths.sum())
        probes, factor = measured.probes(edges)
        pulled = np.zeros((len(probes), measured.family.size))
        pulled[:, :edges] = np.flip(np.cumsum(np.flip(probes, axis=1), axis=1), axis=1)
        moved = self.derivative(np.cumsum(measured.covariances(pulled), axis=1)[:, :edges])
        trace = float((probes * moved).sum())
        if not self.shifted:
            return factor * trace
        return factor * ((measured.family.bins + 1) * trace - float((probes.sum(axis=1) * moved.sum(axis=1)).sum()))


def _shift(means: Floats, lengths: Indices, sums: Floats, fixed: int) -> float:
    """c with Σ_e (d_e − c) = 0 over all edges, by halving and then exactly for the blocks that are cut there."""
    low = min(0.0, -float(means.max())) - 1
    high = max(1.0, 1 - float(means.min())) + 1

    def excess(shift: float) -> float:
        function = np.clip(means + shift, 0.0, 1.0)
        return float((lengths * (function - shift) - sums).sum()) - fixed * shift

    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    shift = (low + high) / 2
    below, above = means + shift <= 0, means + shift >= 1
    held = below | above
    count = fixed + int(lengths[held].sum())
    return (float(lengths[above].sum()) - float(sums[held].sum())) / count
