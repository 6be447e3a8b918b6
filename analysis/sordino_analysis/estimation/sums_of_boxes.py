"""Answers to sums of boxes, Σ w_b · (share of users in box b), with the variances of their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.linear_estimate import EstimationError
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.boxes import Box, Boxes
from sordino_analysis.questions.linear.operators import Dense

# Cells of a domain whose rows are combined cell by cell: a fraction of a second.
_MOST_CELLS = 4096
# A row: boxes and their weights.
BoxSum = Sequence[tuple[float, Box]]
# A bias below this share of one user's standard deviation is one of rounding: less than a tenth of a standard error of
# 10^10 users.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False, kw_only=True)
class SumErrors:
    """Unbiased `answers` (m,) of `users`, and of one user's part the variances of the `noise` (m,) and the draw (m,).

    `drawn` is what users add as an independent sample of a population. No answer is off by more than `bias` (m,) on
    average.
    """

    answers: Floats
    noise: Floats
    drawn: Floats
    bias: Floats
    users: int

    @property
    def notable_bias(self) -> Floats:
        """(m,) the bias where it is more than rounding, else 0."""
        return np.where(self.bias > _ROUNDING * np.sqrt(self.noise), self.bias, 0.0)


def sum_of_query(workload: Workload, query: int) -> BoxSum:
    """A query as a sum of boxes: one where it is the share of a box, else one for each cell that counts.

    Raises EstimationError for a row that is no box of a domain with more than 4,096 cells.
    """
    sides = workload.scope(query).sides
    if sides is not None:
        return [(1.0, Box(workload.label(query), tuple(sides)))]
    if workload.size > _MOST_CELLS:
        raise EstimationError(
            f"{workload.label(query)!r} is no share of a range or cell: of such rows a domain of {workload.size:,} "
            f"cells has too many, at most {_MOST_CELLS:,} are combined"
        )
    row = workload.operator.take(np.array([query]))[0]
    cells = np.flatnonzero(row)
    places = np.stack(np.unravel_index(cells, workload.domain.shape), axis=1).tolist()
    label = workload.label(query)
    return [
        (float(row[cell]), Box(label, tuple((code, code) for code in codes)))
        for cell, codes in zip(cells.tolist(), places, strict=True)
    ]


def rows_of(sums: Sequence[BoxSum], shape: tuple[int, ...]) -> Dense:
    """The rows (m, k) of the sums."""
    rows = [np.array([weight for weight, _ in each]) @ Boxes([box for _, box in each], shape).dense() for each in sums]
    return Dense(np.array(rows))
