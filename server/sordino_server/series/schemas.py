"""Estimates of a series as JSON. Lists of answers are in the order of `queries`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from sordino_analysis.documents.attribute_bounds import AttributeBounds
from sordino_server.estimates.schemas import Interval, PlanDigests, canonical_bytes

PeriodState = Literal["open", "closed", "estimated", "failed", "missing", "paused"]
_FEW = "Null for fewer than 30 reports."


class ListedQuery(BaseModel):
    """A query whose answers are listed."""

    label: str
    kind: str
    bounds: list[AttributeBounds] = Field(description="The values that it counts, of each attribute that it restricts.")


class PeriodFigures(BaseModel):
    """PeriodFigures to all queries about some periods."""

    target: str = Field(description="Whom the population's errors and intervals are about.")
    reports: int
    value: list[float] = Field(description="The unbiased answers.")
    standard_error: list[float] = Field(description="For the answers among the devices that reported.")
    interval: list[Interval] | None = Field(description=f"Each contains that answer with the stated level. {_FEW}")
    population_standard_error: list[float] = Field(description="For the answers among the active devices.")
    population_interval: list[Interval] | None = Field(
        description=f"Each contains the active devices' answer with the stated level. {_FEW}"
    )
    band: list[Interval] | None = Field(
        description=f"Of one query, those of all points of this list together contain all answers. {_FEW}"
    )


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


class ChangeEntry(BaseModel):
    """The later of two neighbouring windows less the earlier one."""

    earlier: tuple[int, int]
    later: tuple[int, int]
    value: list[float]
    standard_error: list[float]
    population_standard_error: list[float]
    interval: list[Interval] | None = Field(description=f"Each contains the reporters' change. {_FEW}")
    marked: list[bool] = Field(description="Whether the change differs from 0, though `comparisons` were made.")


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

    def content(self) -> bytes:
        """Canonical bytes."""
        return canonical_bytes(self)
