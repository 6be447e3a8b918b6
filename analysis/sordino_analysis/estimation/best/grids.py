"""A round of shifted grids on a line as a measured histogram: nothing is as large as a matrix of all types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.best.cells import Cells
from sordino_analysis.estimation.best.measured import MeasuredHistogram
from sordino_analysis.estimation.best.monotone import MonotoneProjection
from sordino_analysis.evaluation.grids.covariance import GridCovariance
from sordino_analysis.evaluation.grids.families import IntervalFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.means import mean_variances
from sordino_analysis.questions.linear.operators import Indices

# Types times cells up to which the response of cells is exact, in a second.
_MOST_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class MeasuredByGrids(MeasuredHistogram):
    """S is that of users spread as the histogram nearest to the unbiased one, and of `random` reports for each user."""

    law: GridLaw
    random: float = 0.0

    @classmethod
    def of(cls, law: GridLaw, family: IntervalFamily, histogram: Floats, users: int, blanket: int) -> MeasuredByGrids:
        """From the unbiased `histogram` (k,) of `users` reports, less `blanket` random ones."""
        found = cls(family, histogram, float(users), law)
        if not blanket:
            return found
        noisy = cls(family, histogram, float(users), law, blanket / users)
        # Fits take the noise of all reports as that of fewer users.
        return cls(family, histogram, users * found.total / noisy.total, law)

    @cached_property
    def _covariance(self) -> GridCovariance:
        return GridCovariance(self.law, MonotoneProjection.of(self.family, self.unbiased).histogram)

    def covariances(self, vectors: Floats) -> Floats:
        return self._covariance.product(vectors)

    @cached_property
    def _sums(self) -> Floats:
        """P (k + 1,) with P_{d+1} − 2P_d + P_{d−1} = M_d, P_{−d} = P_d: a rectangle of M sums to four of them."""
        # 11ᵀ moves no fit, and would be lost to rounding.
        column = self.law.matrix.column - 1.0
        return np.concatenate([[0.0], np.cumsum(np.cumsum(column) - column[0] / 2)])

    def information(self, cells: Cells) -> Floats:
        starts, stops = cells.edges[:-1], cells.edges[1:]

        def sums(one: Indices, other: Indices) -> Floats:
            return self._sums[np.abs(np.subtract.outer(one, other))]

        whole = sums(stops, starts) - sums(starts, starts) - sums(stops, stops) + sums(starts, stops)
        return np.asarray(whole / np.outer(cells.widths, cells.widths) + 1.0)

    def pulled(self, cells: Cells) -> Floats:
        return cells.means(self.law.matrix.product(self.unbiased))

    def response(self, cells: Cells) -> Floats:
        asked = self.family.cell_gram(cells.edges)
        if len(cells.widths) * cells.size > _MOST_ENTRIES:
            # S is nearly proportional to M⁻¹ on sums of 0, and by this much.
            return np.asarray(self._excess * asked)
        rows = self.family.gram(cells.spread(np.eye(len(cells.widths))))
        return cells.means(self.law.matrix.product(self.covariances(rows))).T

    @cached_property
    def _excess(self) -> float:
        """tr(GS)/tr(GM⁻¹) over sums of 0, by fixed signs."""
        probes, factor = self.probes(self.family.size)
        solved = self.law.inverse.product(probes)
        flat = self.law.inverse.product(np.ones((1, self.family.size)))[0]
        solved = solved - np.outer(solved.sum(axis=1), flat) / flat.sum()
        return self.total / (factor * float((self.family.gram(probes) * solved).sum()))

    @cached_property
    def total(self) -> float:
        shares = self._covariance.histogram
        assert shares is not None
        found = self.family.count * float(np.maximum(mean_variances(self.law, self.family), 0.0) @ shares)
        if not self.random:
            return found
        probes, factor = self.probes(self.family.size)
        moved = GridCovariance(self.law, None).product(probes)
        return found + self.random * factor * float((self.family.gram(probes) * moved).sum())
