"""Answers to sums of boxes, Σ w_b · (share of users in box b), with the variances of their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.boxes import Box, Boxes
from sordino_analysis.questions.linear.operators import Dense

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


def rows_of(sums: Sequence[BoxSum], shape: tuple[int, ...]) -> Dense:
    """The rows (m, k) of the sums."""
    rows = [np.array([weight for weight, _ in each]) @ Boxes([box for _, box in each], shape).dense() for each in sums]
    return Dense(np.array(rows))
