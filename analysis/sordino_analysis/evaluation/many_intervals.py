"""Answers about all ranges of one attribute from sets of types: by their lengths, without a list of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import ErrorProfile
from sordino_analysis.evaluation.grids.answers import listed_on_a_line
from sordino_analysis.evaluation.indicator_answers import IndicatorAnswers
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.operators import Ranges

# All ranges of 2,895 bins: with more of them a list takes seconds and hundreds of megabytes.
MOST_LISTED_RANGES = 1 << 22


def too_many_ranges(workload: Workload) -> bool:
    """Whether the queries are all ranges of so many bins that only some are listed."""
    return isinstance(workload.operator.intervals, Ranges) and workload.queries > MOST_LISTED_RANGES


@dataclass(frozen=True, eq=False)
class ManyIntervals(IndicatorAnswers):
    """The moments of the listed ranges; the profile is about all of `ranges`.

    A range of L bins has the variance base_L + step_L·W_qx, and there are b − L + 1 of them.
    """

    ranges: Ranges

    @classmethod
    def listed(cls, answers: IndicatorAnswers) -> ManyIntervals:
        """From the answers to all ranges of a workload; raises ValueError for other queries."""
        ranges = answers.workload.operator.intervals
        if not isinstance(ranges, Ranges):
            raise ValueError("the queries are not all ranges of one attribute")
        return cls(listed_on_a_line(answers.workload), answers.law, answers.decoder, ranges)

    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        listed, bins = super().profile(progress), self.ranges.bins
        lengths = np.arange(1, bins + 1)
        base, step = self._of_sums(lengths.astype(float))
        counts = bins - lengths + 1
        if bins == self.ranges.size:
            # The range of all types has the same answer for everybody.
            counts[-1], base[-1], step[-1] = 0, 0.0, 0.0
        by_type = np.full(self.ranges.size, counts @ base)
        by_type[:bins] += _over_types(step)
        return replace(
            listed,
            type_variance=np.maximum(by_type / counts.sum(), 0.0),
            sought=float(np.maximum(base, base + step).max()),
        )


def _over_types(values: Floats) -> Floats:
    """Σ of values_{L−1} over the ranges of L bins that hold each bin, (b,), for `values` (b,).

    Those that begin at i and hold x have L = x − i + 1 … b − i.
    With F_m = Σ_{L ≤ m} it is Σ_{i ≤ x} (F_{b−i} − F_{x−i}).
    """
    bins = len(values)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    twice = np.concatenate([[0.0], np.cumsum(sums)])
    places = np.arange(bins)
    return np.asarray(twice[-1] - twice[bins - places] - twice[places + 1])
