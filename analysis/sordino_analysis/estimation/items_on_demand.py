"""Answers on demand from reports that are sets of single items: the share of any item, counted exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.estimation.answer_on_demand import OnDemand, Quantiles, ShareAnswer
from sordino_analysis.estimation.items import GuessedItems, Integers, ItemEstimator, Words
from sordino_analysis.estimation.linear_estimate import EstimationError, LinearEstimate
from sordino_analysis.estimation.sums_of_boxes import BoxSum, SumErrors
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.item_counts import counts_of_all, counts_of_table
from sordino_analysis.questions.linear.boxes import Box
from sordino_analysis.questions.linear.on_demand import BoxKind, Quantile

CountItems = Callable[[Words], Integers]


@dataclass(frozen=True, eq=False)
class ItemsOnDemand:
    """A closed round of `users` reports; `count` (m, attributes) → (m,) says how many of them hold each item.

    `table` has the sums of all items, or is None where items are counted in the log.
    """

    estimator: ItemEstimator
    users: int
    count: CountItems
    table: Aggregate | None = None

    @cached_property
    def guessed(self) -> GuessedItems | None:
        """Guesses at all items of the table: half a second for 2²⁴ of them."""
        if self.table is None:
            return None
        counts = counts_of_all(self.estimator.randomizer, self.table.sums)
        return self.estimator.guessed(counts, self.users)

    def compared(self, kind: BoxKind) -> int:
        if kind in ("range", "rectangle"):
            raise EstimationError("the reports of this plan are about single items: ask for cells")
        return self.estimator.randomizer.size

    def shares(self, boxes: Sequence[Box], compared: int, level: float) -> OnDemand:
        places = range(len(self.estimator.device.domain.attributes))
        items = [box.of_members(places) for box in boxes]
        for box, item in zip(boxes, items, strict=True):
            if item is None:
                raise EstimationError(f"the reports are about single items, and {box.label!r} holds several")
        codes = np.array(items, dtype=np.uint64)
        found = self.estimator.of_counts(codes, self.count(codes), self.users, level, self.guessed)
        answers = tuple(
            ShareAnswer(
                label=box.label,
                value=float(found.value[row]),
                uncut=float(found.uncut[row]),
                standard_error=float(found.standard_error[row]),
                interval=(float(found.interval[row, 0]), float(found.interval[row, 1])),
                band=(float(found.band[row, 0]), float(found.band[row, 1])),
                population_standard_error=float(found.population_standard_error[row]),
                population_interval=(float(found.interval[row, 0]), float(found.interval[row, 1])),
                best=float(found.best[row]),
            )
            for row, box in enumerate(boxes)
        )
        return OnDemand(
            answers=answers,
            compared=compared,
            users=self.users,
            level=level,
            bias_bound=self.estimator.analyst.figures.bias_bound,
            warnings=found.warnings,
        )

    def quantiles(self, questions: Sequence[Quantile], level: float) -> OnDemand:
        raise EstimationError("the reports of this plan are about single items: ask for cells")

    def sums(self, rows: Sequence[BoxSum], level: float) -> SumErrors:
        raise EstimationError("the reports of this plan are about single items, and tell no groups or differences")

    def combinations(self, rows: Sequence[BoxSum], labels: Sequence[str], level: float) -> LinearEstimate:
        raise EstimationError("the reports of this plan are about single items, and tell no groups or differences")

    def group_quantile(self, question: Quantile, group: Box, level: float) -> Quantiles:
        raise EstimationError("the reports of this plan are about single items: ask for cells")


def count_in_table(estimator: ItemEstimator, aggregate: Aggregate) -> CountItems | None:
    """Counts from the table of a round; None where its reports make none, and items are counted in the log."""
    if not estimator.randomizer.table_sizes[0]:
        return None
    return lambda codes: counts_of_table(estimator.randomizer, aggregate.sums, codes)
