"""A round of any linear decoder over a few hundred ordered types as a measured histogram."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.best.cells import Cells
from sordino_analysis.estimation.best.measured import MeasuredHistogram
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.grids.families import IntervalFamily

# Eigenvalues below this share of the largest are rounding.
_RANK = 1e-11


@dataclass(frozen=True, eq=False)
class MeasuredByTable(MeasuredHistogram):
    """S (k, k) of the histogram of least squares to the answers, and its inverse where users are spread evenly."""

    covariance: Floats
    inverse: Floats

    @classmethod
    def of(
        cls, law: AnswerMoments, family: IntervalFamily, answers: Floats, nearest: Floats, users: int
    ) -> Self | None:
        """From unbiased `answers` (Q,) of users spread about as `nearest` (k,); None where covariances are too many."""
        operator, types = law.workload.operator, family.size
        even = np.full(types, 1 / types)
        roots = [law.covariance_root(shares) for shares in (nearest, even)]
        if roots[0] is None or roots[1] is None:
            return None
        gram = family.gram(np.eye(types))
        gram = gram - gram.mean(axis=0)
        solved = np.linalg.pinv(gram - gram.mean(axis=1, keepdims=True), rcond=_RANK, hermitian=True)

        def histograms(rows: Floats) -> Floats:
            pulled = np.stack([operator.rmatvec(row) for row in rows])
            return np.asarray((pulled - pulled.mean(axis=1, keepdims=True)) @ solved)

        unbiased = even + histograms((answers - operator.matvec(even))[None])[0]
        moved = [histograms(root.T) for root in roots if root is not None]
        covariance, at_even = (each.T @ each for each in moved)
        inverse = np.asarray(np.linalg.pinv(at_even, rcond=_RANK, hermitian=True), dtype=float)
        return cls(family, unbiased, float(users), covariance, inverse)

    def covariances(self, vectors: Floats) -> Floats:
        return vectors @ self.covariance

    def information(self, cells: Cells) -> Floats:
        # Shares of sum 1 are told apart by what is added to all alike, too: a fit may then be solved for any support.
        unit = float(np.trace(self.inverse)) / len(self.inverse)
        return cells.means(cells.means(self.inverse).T) + unit

    def pulled(self, cells: Cells) -> Floats:
        unit = float(np.trace(self.inverse)) / len(self.inverse)
        return cells.means(self.inverse @ self.unbiased) + unit

    def response(self, cells: Cells) -> Floats:
        rows = self.family.gram(cells.spread(np.eye(len(cells.widths))))
        return cells.means(self.covariances(rows) @ self.inverse).T

    @cached_property
    def total(self) -> float:
        return float((self.family.gram(np.eye(self.family.size)) * self.covariance).sum())
