"""Measures of numbers of a closed round, as one of two sides that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sordino_analysis.comparisons.difference import Side
from sordino_analysis.comparisons.parts import MeasureCells, MeasuredSide
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.kinds.numbers_document import rows_of_measures
from sordino_analysis.kinds.true_measures import measures_of
from sordino_shared.protocol import DevicePart


def with_measures(side: Side, estimator: LinearEstimator, aggregate: Aggregate) -> Side:
    """The side of this round, with the measures that its workload asks, if it asks any."""
    workload = estimator.workload
    if not isinstance(workload.published, NumberQueries):
        return side
    bias = sum(abs(weight) * part.bias for weight, part in side.parts)
    shown = measures_of(workload).shown
    reaches = {each.label: each.reach for each in shown if each.reach is not None}
    measured = MeasuredSide(
        domain=workload.held_domain, users=side.users, bias=bias, at=_Cells(estimator, aggregate), reaches=reaches
    )
    return replace(side, measures=measured)


def side_of_plan(
    device: DevicePart, analyst: AnalystPart, aggregate: Aggregate, level: float, blanket: int = 0
) -> Side:
    """The side of a closed round of the plan with these two parts; raises as `Side.of_plan` does."""
    side = Side.of_plan(device, analyst, aggregate, level, blanket)
    return with_measures(side, LinearEstimator.of(device, analyst).among(aggregate, blanket), aggregate)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of the measures of a round, at any level."""

    estimator: LinearEstimator
    aggregate: Aggregate

    def __call__(self, level: float) -> Sequence[MeasureCells]:
        found = self.estimator.estimate(self.aggregate, level)
        return rows_of_measures(self.estimator, self.aggregate, found)
