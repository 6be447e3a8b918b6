"""Answers for single items of a histogram, also of one that is too long to list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sordino_analysis.analyst.arguments import NUMBER, takes
from sordino_analysis.analyst.display import AnswersShown, shown
from sordino_analysis.analyst.estimates import PLAN
from sordino_analysis.analyst.frames import values_of
from sordino_analysis.analyst.plans import Plan
from sordino_analysis.analyst.reports import Reports, checked_reports
from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.filling import cells_of_estimate
from sordino_analysis.answers.shown import ShownAnswers, shown_answers
from sordino_analysis.answers.table import AnswerTable, joined
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.items import ItemEstimate, ItemEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.item_counts import count_items, counts_of_table
from sordino_analysis.figures import SHARE
from sordino_analysis.vectorized.domains import codes_many
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity


@dataclass(frozen=True, eq=False, repr=False)
class Items(AnswersShown):
    """Shares of m items, as `values` named them; numbers are in units of the answers, where .01 is one point.

    `size` is the number of items that the band holds at once. `answers` (m,) are `uncut`, which are unbiased, cut to
    [0, 1]; `intervals` (m, 2) are exact for an item that was chosen before, `band` (m, 2) for all items of the
    histogram at once: use it for items that were chosen by their answers.
    """

    values: tuple[object, ...]
    estimate: ItemEstimate
    size: int

    @property
    def answers(self) -> Floats:
        return self.estimate.value

    @property
    def uncut(self) -> Floats:
        """(m,) the unbiased answers."""
        return self.estimate.uncut

    @property
    def standard_errors(self) -> Floats:
        """(m,) for the users who reported."""
        return self.estimate.standard_error

    @property
    def intervals(self) -> Floats:
        return self.estimate.interval

    @property
    def band(self) -> Floats:
        return self.estimate.band

    @property
    def table(self) -> AnswerTable:
        """The answers under the names of docs/results.md, one a row."""
        labels = [str(value) for value in self.values]
        columns: dict[str, Sequence[Cell]] = {
            "label": labels,
            "unit": [SHARE] * len(labels),
            **cells_of_estimate(self.estimate),
        }
        found = self.estimate
        return AnswerTable.of_columns(
            columns, users=found.users, compared=self.size, level=found.level, warnings=joined(found.warnings)
        )

    def _shown(self) -> ShownAnswers:
        answers = shown_answers(self.table, "item", rows=shown(len(self.values)))
        return answers.titled(quantity(len(self.values), "item"))


@takes(plan=PLAN, level=NUMBER)
def items(plan: Plan, reports: Reports | Aggregate, values: Sequence[object] | Any, level: float = 0.95) -> Items:
    """The shares of the items that have these `values`, from n reports of a plan of coarsened_histogram.

    `reports` are (n, width) bytes or a list or column of n `bytes`, or what they add up to where the plan keeps a table
    of its items (up to 2^25). `values` is a list, an array, or a series of pandas or polars. A million reports take
    about a tenth of a second an item. Raises InvalidValue for a value that the domain does not list, EstimationError
    for a plan of another mechanism and where there are no reports.

    >>> urls = workload({
    ...     "name": "urls", "domain": [{"name": "url", "kind": "hashed", "bits": 64}], "queries": "histogram"
    ... })
    >>> slow = plan(urls, epsilon=1)
    >>> slow.device.randomizer.payload_bytes, round(slow.ratio, 3)
    (9, 1.003)
    """
    estimator, domain = ItemEstimator(plan.device, plan.analyst), plan.domain
    values = values_of(values)
    codes = codes_many(domain, values, strict=True)
    if isinstance(reports, Aggregate):
        estimator.check(reports)
        counts, users = counts_of_table(estimator.randomizer, reports.sums, codes), reports.count
    else:
        payloads = checked_reports(plan, reports)
        counts, users = count_items(estimator.randomizer, payloads, codes), len(payloads)
    if not len(codes):
        raise InvalidValue("there are no values: give one for each item", values)
    return Items(tuple(values), estimator.of_counts(codes, counts, users, level), domain.size)
