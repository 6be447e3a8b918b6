"""Estimates of a series as JSON. Lists of answers are in the order of `queries`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from sordino_analysis.answers.columns import Cell, cells_of_bounds
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.documents.attribute_bounds import AttributeBounds
from sordino_server.estimates.schemas import Interval, PlanDigests, canonical_bytes

PeriodState = Literal["open", "closed", "estimated", "failed", "missing", "paused"]
_FEW = "Null for fewer than 30 reports."


class ListedQuery(BaseModel):
    """A query whose answers are listed."""

    label: str
    kind: str
    bounds: list[AttributeBounds] = Field(description="The values that it counts, of each attribute that it restricts.")


class Held(BaseModel):
    """How often the intervals of each query hold, and what so few reports leave open."""

    coverage: list[float | None] = Field(
        description="How often intervals like this one hold, from the exact law; null without one."
    )
    population_coverage: list[float | None] = Field(description="The same for the active devices' intervals.")
    enough_reports: list[int | None] = Field(
        description="Reports from which on both hold with the stated level; null where they do."
    )
    warnings: list[str]

    def held_cells(self, query: int) -> dict[str, Cell]:
        """The cells of one query's row of a table."""
        return {
            "coverage": self.coverage[query],
            "population_coverage": self.population_coverage[query],
            "enough_reports": self.enough_reports[query],
            "warnings": " | ".join(self.warnings) or None,
        }


class PeriodFigures(Held):
    """Answers to all queries about some periods."""

    target: str = Field(description="Whom the population's errors and intervals are about.")
    reports: int
    value: list[float] = Field(description="The answers: `uncut`, of shares cut to [0, 1] as their ends are.")
    uncut: list[float] = Field(description="The unbiased answers.")
    standard_error: list[float] = Field(description="For the uncut answers among the devices that reported.")
    interval: list[Interval] | None = Field(description=f"Each contains that answer with the stated level. {_FEW}")
    population_standard_error: list[float] = Field(description="For the answers among the active devices.")
    population_interval: list[Interval] | None = Field(
        description=f"Each contains the active devices' answer with the stated level. {_FEW}"
    )
    band: list[Interval] | None = Field(
        description=f"Of one query, those of all points of this list together contain all answers. {_FEW}"
    )

    def cells(self, query: int) -> dict[str, Cell]:
        """The row of one query in a table."""
        return {
            "value": self.value[query],
            "uncut": self.uncut[query],
            "standard_error": self.standard_error[query],
            **_ends("", self.interval, query),
            **_ends("band_", self.band, query),
            "population_standard_error": self.population_standard_error[query],
            **_ends("population_", self.population_interval, query),
            "users": self.reports,
            "target": self.target,
            **self.held_cells(query),
        }


class PeriodEntry(BaseModel):
    """A period from `start` until before `end` (Unix time)."""

    period: int
    start: int
    end: int
    state: PeriodState = Field(
        description="`missing` has no reports, `paused` has none since the series was paused; nothing stands in for it."
    )
    reports: int
    active: float | None = Field(description="Active devices, T times the reports, if all reports are honest.")
    active_standard_error: float | None
    answers: PeriodFigures | None = Field(description="Null until the period is closed, and without reports.")


class WindowEntry(BaseModel):
    """The mean of some periods that have reports."""

    first: int
    last: int
    missing: int = Field(description="Periods of the window without reports.")
    answers: PeriodFigures


class ChangeEntry(Held):
    """The later of two neighbouring windows less the earlier one."""

    earlier: tuple[int, int]
    later: tuple[int, int]
    value: list[float]
    standard_error: list[float]
    population_standard_error: list[float]
    interval: list[Interval] | None = Field(description=f"Each contains the reporters' change. {_FEW}")
    population_interval: list[Interval] | None = Field(
        description=f"Each contains the active devices' change with the stated level. {_FEW}"
    )
    marked: list[bool] = Field(
        description="Whether the change of the active devices differs from 0, though `comparisons` were made."
    )

    def cells(self, query: int) -> dict[str, Cell]:
        """The row of one query in a table."""
        (begin, end), (first, last) = self.earlier, self.later
        return {
            "value": self.value[query],
            "standard_error": self.standard_error[query],
            **_ends("", self.interval, query),
            "population_standard_error": self.population_standard_error[query],
            **_ends("population_", self.population_interval, query),
            "left": f"periods {begin} to {end}",
            "right": f"periods {first} to {last}",
            "verdict": ("higher" if self.value[query] > 0 else "lower") if self.marked[query] else "undecided",
            **self.held_cells(query),
        }


class TrendEntry(BaseModel):
    """A smoothed line through the periods, to be drawn beside their estimates; it has no interval."""

    periods: list[int]
    value: list[list[float]] = Field(description="A list of answers for each period.")
    variance: list[list[float]] = Field(description="Variances if the truth were a random walk.")
    step_variance: list[float] = Field(description="σ² of the walk's steps, the most likely one of a grid.")
    decay: list[float] = Field(description="a in the notes, at the median noise.")
    weights: list[list[float]] = Field(description="For each query: what each period counts in the last value.")
    notes: list[str]


class SeriesDocument(BaseModel):
    """The closed periods of a series in a range, with windows of them."""

    campaign: str = Field(description="Digest of the manifest.")
    plan: PlanDigests
    workload: str
    mechanism: str
    epsilon: float = Field(description="ε of one answer.")
    slots: int
    period_s: int
    value_of: Literal["current", "previous"]
    level: float
    by: Literal["reports", "periods"]
    window: int
    comparisons: int = Field(description="Changes that are compared, over all queries.")
    warnings: list[str]
    queries: list[ListedQuery]
    periods: list[PeriodEntry]
    windows: list[WindowEntry]
    changes: list[ChangeEntry]
    trend: TrendEntry | None

    def table(self) -> AnswerTable:
        """A row for each query of a period, of a window and of a change, as its `part` says."""
        rows: list[dict[str, Cell]] = []
        periods = [(each.period, each.answers) for each in self.periods if each.answers is not None]
        for query, listed in enumerate(self.queries):
            named = {"kind": listed.kind, "label": listed.label, **cells_of_bounds(listed.bounds)}
            rows += [{"part": "period", "period": one, **named, **answers.cells(query)} for one, answers in periods]
            rows += [
                {"part": "window", "period": each.first, "period_last": each.last, **named, **each.answers.cells(query)}
                for each in self.windows
            ]
            rows += [{"part": "change", **named, **each.cells(query)} for each in self.changes]
        return AnswerTable.of_rows(
            rows, campaign_id=self.campaign, epsilon=self.epsilon, level=self.level, mechanism=self.mechanism
        )

    def content(self) -> bytes:
        """Canonical bytes."""
        return canonical_bytes(self)


def _ends(prefix: str, intervals: list[Interval] | None, query: int) -> dict[str, Cell]:
    low, high = (None, None) if intervals is None else intervals[query]
    return {f"{prefix}lower": low, f"{prefix}upper": high}
