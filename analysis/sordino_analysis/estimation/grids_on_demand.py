"""Answers on demand from shifted grids: any interval of an ordered attribute, or any rectangle of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sordino_analysis.estimation.consistency import NearestHistogram, nearest_distribution
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.estimation.linear_on_demand import LinearOnDemand
from sordino_analysis.evaluation.accumulate import mean_accumulator
from sordino_analysis.evaluation.grids.answers import GridAnswers
from sordino_analysis.evaluation.grids.plane_answers import PlaneAnswers
from sordino_analysis.questions.linear.boxes import Box, Boxes
from sordino_analysis.questions.linear.operators import Intervals


@dataclass(frozen=True, eq=False)
class GridsOnDemand(LinearOnDemand):
    """A closed round of shifted grids; `law` is that of the listed intervals."""

    law: GridAnswers

    @cached_property
    def nearest(self) -> NearestHistogram:
        """That of the monotone function nearest to the distribution function of the decoded histogram."""
        mean = mean_accumulator(self.estimator.device.randomizer, self.aggregate)
        return nearest_distribution(self.law.histogram(mean))

    def _asked(self, boxes: Sequence[Box]) -> LinearEstimator:
        first, last = np.array([box.sides[0] for box in boxes], dtype=np.intp).T
        workload = replace(
            self.law.workload,
            operator=Intervals(first, last + 1, self.law.workload.size),
            name_query=lambda query: boxes[query].label,
        )
        return self.estimator.asked(workload, self.estimator.decoder, self.law.asked(workload))

    def _bias(self, estimator: LinearEstimator) -> float:
        """That of all intervals: what the rounding of a solution leaves."""
        return self.estimator.analyst.figures.bias_bound


@dataclass(frozen=True, eq=False)
class PlanesOnDemand(LinearOnDemand):
    """A closed round of grids on two attributes; `law` is that of the listed rectangles."""

    law: PlaneAnswers

    def _asked(self, boxes: Sequence[Box]) -> LinearEstimator:
        workload = replace(
            self.law.workload,
            operator=Boxes(boxes, self.law.plane.shape),
            name_query=lambda query: boxes[query].label,
        )
        return self.estimator.asked(workload, self.estimator.decoder, self.law.asked(workload))

    def _bias(self, estimator: LinearEstimator) -> float:
        """That of all rectangles: what the rounding of a solution leaves."""
        return self.estimator.analyst.figures.bias_bound
