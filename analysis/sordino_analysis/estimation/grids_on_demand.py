"""Answers on demand from shifted grids: queries about one ordered attribute and categories, or rectangles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sordino_analysis.estimation.answer_on_demand import OnDemand, ShareAnswer
from sordino_analysis.estimation.consistency import (
    RELATIVE_GAP,
    NearestHistogram,
    nearest_distribution,
    nearest_histogram,
)
from sordino_analysis.estimation.cumulative import looked_at, spread_bins
from sordino_analysis.estimation.linear import EstimationError, LinearEstimator
from sordino_analysis.estimation.linear_on_demand import LinearOnDemand
from sordino_analysis.evaluation.accumulate import Aggregate, mean_accumulator
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.grids.answers import GridAnswers
from sordino_analysis.evaluation.grids.category_answers import CategoryAnswers
from sordino_analysis.evaluation.grids.moments import GridMoments
from sordino_analysis.evaluation.grids.plane_answers import PlaneAnswers
from sordino_analysis.evaluation.grids.plane_category_answers import PlaneCategoryAnswers
from sordino_analysis.questions.linear.boxes import Box
from sordino_analysis.questions.linear.operators import Indices, LinearMap

# A standard error on a plane of 256 × 256 types takes most of a second, so more bins have these many.
_ALL_BINS, _SPREAD, _NEAR = 32, 9, 9
_MANY_AS_NEAR = "many histograms are as near to the answers that the plan lists; the estimate has best guesses"


@dataclass(frozen=True, eq=False)
class _GridsAlone(LinearOnDemand):
    """A closed round of shifted grids; `law` is of the listed queries."""

    law: GridMoments

    def _asked(self, boxes: Sequence[Box]) -> LinearEstimator:
        return self._of(self.law.for_boxes(boxes))

    def _of(self, law: GridMoments) -> LinearEstimator:
        return self.estimator.for_queries(law.workload, self.estimator.decoder, law)

    def _bias(self, estimator: LinearEstimator) -> float:
        """That of all answers: what the rounding of a solution leaves."""
        return self.estimator.analyst.figures.bias_bound


@dataclass(frozen=True, eq=False)
class GridsOnDemand(_GridsAlone):
    """A closed round of shifted grids on a line."""

    law: GridAnswers

    @cached_property
    def nearest(self) -> NearestHistogram:
        """That of the monotone function nearest to the distribution function of the decoded histogram."""
        mean = mean_accumulator(self.estimator.device.randomizer, self.aggregate)
        return nearest_distribution(self.law.histogram(mean))

    def asked(self, operator: LinearMap, label: Callable[[int], str]) -> LinearEstimator:
        return self._of(self.law.for_rows(operator, label))


@dataclass(frozen=True, eq=False)
class PlanesOnDemand(_GridsAlone):
    """A closed round of grids on two attributes, whose law is known for boxes, and not for sums of them."""

    def asked(self, operator: LinearMap, label: Callable[[int], str]) -> LinearEstimator:
        raise EstimationError(
            f"reports of {self.estimator.analyst.mechanism} answer ranges and rectangles, not differences or groups of "
            "them: plan with fewer bins, or with another mechanism"
        )

    @cached_property
    def nearest(self) -> NearestHistogram:
        """As for other plans; the noise of its tolerance is published, and takes half a minute to work out.

        Raises EstimationError where it is not published.
        """
        uniform = self.estimator.analyst.figures.uniform_mean_variance
        if uniform is None:
            raise EstimationError("the plan has no mean variance over even types: plan it again")
        noise = uniform * self.law.workload.queries / self.aggregate.count
        answers = self.estimator.unbiased(self.aggregate)
        return nearest_histogram(self.law.workload.operator, answers, RELATIVE_GAP * noise)

    @cached_property
    def guess(self) -> None:
        """None: the nearest histogram is one of many that have the listed answers, and differ in others."""
        return None

    def shares(self, boxes: Sequence[Box], compared: int, level: float) -> OnDemand:
        found = super().shares(boxes, compared, level)
        answers = tuple(replace(one, best=None) for one in found.answers if isinstance(one, ShareAnswer))
        return replace(found, answers=answers, no_best=_MANY_AS_NEAR)

    def _looked_at(self, bins: int) -> Indices:
        return np.arange(bins) if bins <= _ALL_BINS else spread_bins(bins, _SPREAD, _NEAR)


@dataclass(frozen=True, eq=False)
class CategoriesOnDemand(PlanesOnDemand):
    """A closed round of grids on categories and one ordered attribute, whose law is known for all sums of cells."""

    law: CategoryAnswers

    def asked(self, operator: LinearMap, label: Callable[[int], str]) -> LinearEstimator:
        return self._of(self.law.for_rows(operator, label))

    def _looked_at(self, bins: int) -> Indices:
        return looked_at(bins)


@dataclass(frozen=True, eq=False)
class PlaneCategoriesOnDemand(PlanesOnDemand):
    """A closed round of grids on categories and two ordered attributes, whose law is known for all sums of cells."""

    law: PlaneCategoryAnswers

    def asked(self, operator: LinearMap, label: Callable[[int], str]) -> LinearEstimator:
        return self._of(self.law.for_rows(operator, label))


# The form of answers on demand for each form of grids.
FORMS: Mapping[type[AnswerMoments], Callable[[LinearEstimator, Aggregate, Any], LinearOnDemand]] = {
    GridAnswers: GridsOnDemand,
    PlaneAnswers: PlanesOnDemand,
    CategoryAnswers: CategoriesOnDemand,
    PlaneCategoryAnswers: PlaneCategoriesOnDemand,
}
