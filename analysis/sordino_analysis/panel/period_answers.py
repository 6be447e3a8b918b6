"""What a series says of some periods: of one, of a window of several, of the change between two windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.filling import cells_of_estimate
from sordino_analysis.answers.framed import Framed
from sordino_analysis.answers.table import AnswerTable, joined
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.doubts import doubts
from sordino_analysis.estimation.normality import Normality, columns_of_laws
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.panel.means import MeanPart
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.columns import columns_of_queries
from sordino_shared.quantities import quantity

# The errors of fewer reports are not normal enough for an interval.
LEAST_REPORTS = 30

# What weighs the periods of a window: their reports, or all periods the same.
By = Literal["reports", "periods"]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Judged(Framed):
    """How often the intervals hold, worked out when it is first read; None without an interval or a known law."""

    workload: Workload
    reports: int
    level: float
    reliability: Callable[[], Sequence[Normality | None]]
    interval: Floats | None

    @property
    def table(self) -> AnswerTable:
        """The answers under the names of docs/results.md, one a row."""
        columns: dict[str, Sequence[Cell]] = {**columns_of_queries(self.workload), **cells_of_estimate(self)}
        columns |= columns_of_laws(self.normality)
        return AnswerTable.of_columns(columns, users=self.reports, level=self.level, warnings=joined(self.warnings))

    @cached_property
    def normality(self) -> tuple[Normality | None, ...]:
        """(Q,) of each query."""
        return (None,) * self.workload.queries if self.interval is None else tuple(self.reliability())

    @property
    def coverage(self) -> list[float | None]:
        """(Q,) how often intervals about the devices that reported hold."""
        return [None if one is None else one.coverage for one in self.normality]

    @property
    def population_coverage(self) -> list[float | None]:
        """(Q,) how often those about the active devices hold; of one period as if T were large."""
        return [None if one is None else one.population_coverage for one in self.normality]

    @property
    def enough_reports(self) -> list[int | None]:
        """(Q,) reports from which on both hold with the level; None where they do."""
        return [None if one is None else one.enough_reports for one in self.normality]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about what so few reports leave open."""
        if self.interval is None:
            return (f"{quantity(self.reports, 'report')}: intervals need the weight of {LEAST_REPORTS}",)
        return doubts(self.workload.label, self.reports, self.level, self.normality)


@dataclass(frozen=True, eq=False, kw_only=True)
class PeriodAnswers(_Judged):
    """Answers (Q,) about the periods `first` … `last`, of which those in `periods` have `reports`.

    `value` is the answer, of a share cut to [0, 1] as its ends are, and `uncut` the unbiased one. `standard_error`
    (Q,) is about the devices that reported, `population_standard_error` (Q,) about what `target` names, of which they
    are a sample. `interval` and `population_interval` (Q, 2) have probability `level`, and are None where the reports
    are too few. The `band` (Q, 2) of a point of a chart holds, for one query, all points at once; answers alone have
    none. `parts` are the means that the answers are the weighted sum of, from these `aggregates`, and `unasked` is the
    factor of sampling in a difference from other devices.
    """

    first: int
    last: int
    periods: tuple[int, ...]
    target: str
    value: Floats
    uncut: Floats
    standard_error: Floats
    population_standard_error: Floats
    population_interval: Floats | None
    band: Floats | None
    parts: Sequence[tuple[float, MeanPart]]
    aggregates: tuple[Aggregate, ...]
    unasked: float

    @property
    def missing(self) -> int:
        """How many of the periods have no reports."""
        return self.last - self.first + 1 - len(self.periods)


@dataclass(frozen=True, eq=False, kw_only=True)
class Change(_Judged):
    """Answers (Q,) of the window `later` less those of the window `earlier`, each (first, last), from their `reports`.

    `interval` and `population_interval` (Q, 2) are None where the reports are too few. `marked` (Q,) says which changes
    of the active devices differ from 0 though `comparisons` of them were made.
    """

    earlier: tuple[int, int]
    later: tuple[int, int]
    value: Floats
    standard_error: Floats
    population_standard_error: Floats
    population_interval: Floats | None
    comparisons: int
    marked: NDArray[np.bool_]


def target_of(first: int, last: int, by: By) -> str:
    """Whom an estimate is about, in words."""
    if first == last:
        return f"devices active in period {first}"
    if by == "reports":
        return f"active device-periods of periods {first} to {last}"
    return f"mean over periods {first} to {last} of the devices active in each"
