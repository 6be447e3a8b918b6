"""The estimates of a series: of its periods, of windows of them, of changes between windows, and its trend."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, Field

from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.answers.shown import Row, ShownAnswers
from sordino_analysis.figures import chosen, with_error
from sordino_analysis.kinds.base import KindOfAnswers
from sordino_shared.quantities import quantity

PeriodState = Literal["open", "closed", "estimated", "failed", "missing", "paused", "withheld", "unreadable"]
# Answers that a table for readers has side by side, and warnings of points below it.
_MOST_ANSWERS, _MOST_DOUBTS = 8, 4

_Key = tuple[str, ...]


class ListedPeriod(BaseModel):
    """A period from `start` until before `end` (Unix time)."""

    period: int
    start: int
    end: int
    state: PeriodState = Field(
        description="`missing` has no reports, `paused` has none since the series was paused; nothing stands in for "
        "it. Behind a shuffler, `withheld`: too few devices took part; `unreadable`: the key of its batch is lost."
    )
    reports: int
    active: float | None = Field(description="Active devices, T times the reports, if all reports are honest.")
    active_standard_error: float | None


@dataclass(frozen=True, kw_only=True)
class SeriesStates:
    """A campaign that is a series: when period 0 starts, and the state and reports so far of each period shown."""

    campaign: str
    start: int
    period_s: int
    of_previous: bool
    states: Mapping[int, PeriodState]
    reports: Mapping[int, int]
    warnings: Sequence[str]

    def begins(self, period: int) -> int:
        """Unix time."""
        return self.start + period * self.period_s

    def listed(self, period: int, slots: int, *, known: bool) -> ListedPeriod:
        """The period; how many devices were active is told of one that is `known` to have all its reports."""
        reports, start = self.reports.get(period, 0), self.begins(period)
        return ListedPeriod(
            period=period,
            start=start,
            end=start + self.period_s,
            state=self.states[period],
            reports=reports,
            active=slots * reports if known else None,
            active_standard_error=math.sqrt(slots * reports * (slots - 1)) if known else None,
        )


class TrendTerms(BaseModel):
    """What a smoothed line rests on, for each query; it has no interval. Its values are the rows `trend`."""

    variance: list[list[float]] = Field(description="Of each period, if the truth were a random walk.")
    step_variance: list[float] = Field(description="σ² of the walk's steps, the most likely one of a grid.")
    decay: list[float] = Field(description="a in the notes, at the median noise.")
    weights: list[list[float]] = Field(description="What each period counts in the last value.")
    notes: list[str]


class PeriodsExtras(Extras):
    """What the documents of all series have."""

    workload: str
    slots: int
    period_s: int
    value_of: Literal["current", "previous"]
    periods: list[ListedPeriod] = Field(description="Every period of the range, also those without answers.")


class SeriesExtras(PeriodsExtras):
    """The closed periods of a series in a range, with windows of them, changes between windows and a trend.

    The column `part` says what a row is about. Of fewer than 30 reports there is no interval. Of one query, the bands
    of all periods, and those of all windows, together contain all answers. A `verdict` on a change is about the active
    devices, though `comparisons` were made.
    """

    by: Literal["reports", "periods"]
    window: int
    comparisons: int = Field(description="Changes that are compared, over all queries.")
    blanket: int | None = Field(
        None, description="Random reports of a shuffler in each period, whose expected sum was subtracted."
    )
    trend: TrendTerms | None


class SeriesKind(KindOfAnswers):
    """A row for each query of a period, a window, a change and the trend; `users` are those of the row."""

    name = "series"
    extras = SeriesExtras
    terms = ("campaign_id", "bias_bound", "plan_device", "plan_analyst")
    oldest_first = True

    def tables(self, estimate: EstimateDocument, most: int | None) -> Sequence[ShownAnswers]:
        """Periods, windows and changes, with the first answers side by side."""
        lines = _Lines.of(estimate)
        made = [
            ShownAnswers(title=title, headings=(*headings, *lines.labels), rows=tuple(texts))
            for title, headings, texts in (
                ("Periods", ("period", "from", "state", "reports"), lines.periods()),
                ("Windows", ("window", "missing", "reports"), lines.windows()),
                ("Changes", ("change",), lines.changes()),
            )
        ]
        shown = [each for each in made if each.rows] or made[:1]
        warnings = (*estimate.extras.warnings, *_doubts(estimate))
        return [*shown[:-1], replace(shown[-1], notes=tuple(self.notes(estimate)), warnings=warnings)]

    def notes(self, estimate: EstimateDocument) -> Sequence[str]:
        """What ± and * mean, and what an answer costs a device."""
        of = _extras(estimate)
        count = len(dict.fromkeys(estimate.table.cells("label")))
        lines = [f"* differs from 0 among {quantity(of.comparisons, 'comparison')}"] if of.comparisons else []
        lines.append(
            f"± one standard error; ε = {chosen(estimate.epsilon)}, one answer in {quantity(of.slots, 'period')}, "
            f"mechanism {estimate.terms['mechanism']}"
        )
        if count > _MOST_ANSWERS:
            lines.append(f"{quantity(count - _MOST_ANSWERS, 'more answer')}: see the CSV")
        return lines

    def caption(self, estimate: EstimateDocument, users: str) -> str:
        """What an answer costs, and how long windows are."""
        of = _extras(estimate)
        return (
            f"{of.workload}, ε = {chosen(estimate.epsilon)} of one answer in {quantity(of.slots, 'period')}; "
            f"windows of {quantity(of.window, 'period')} end where they are drawn"
        )


def periods_of(estimate: EstimateDocument) -> Sequence[ListedPeriod]:
    """Every period that the estimate of a series is about, also those without answers."""
    assert isinstance(estimate.extras, PeriodsExtras), "as every series"
    return estimate.extras.periods


def _extras(estimate: EstimateDocument) -> SeriesExtras:
    assert isinstance(estimate.extras, SeriesExtras)
    return estimate.extras


@dataclass(frozen=True)
class _Lines:
    """The lines of tables that have the first answers about a period, a window or a change side by side."""

    shown: Sequence[ListedPeriod]
    labels: Sequence[str]
    answers: Mapping[tuple[str, _Key], Sequence[Row]]

    @classmethod
    def of(cls, estimate: EstimateDocument) -> _Lines:
        answers: dict[tuple[str, _Key], list[Row]] = {}
        for row in estimate.answers():
            answers.setdefault((str(row["part"]), _key(row)), []).append(row)
        labels = [str(row["label"]) for row in next(iter(answers.values()), [])]
        return cls(periods_of(estimate), labels[:_MOST_ANSWERS], answers)

    def periods(self) -> Iterator[tuple[str, ...]]:
        """Every period; the cells of one without answers are empty."""
        for each in self.shown:
            found = self.answers.get(("period", (str(each.period),)), ())
            texts = map(_value, found[: len(self.labels)]) if found else [""] * len(self.labels)
            yield (str(each.period), moment(each.start), each.state, f"{each.reports:,}", *texts)

    def windows(self) -> Iterator[tuple[str, ...]]:
        """Windows, with how many of their periods have no reports."""
        for (first, last), found in self._of("window"):
            whole = range(int(first), int(last) + 1)
            missing = sum(("period", (str(period),)) not in self.answers for period in whole)
            yield (f"{first} to {last}", str(missing), f"{found[0]['users']:,}", *map(_value, found))

    def changes(self) -> Iterator[tuple[str, ...]]:
        """Changes with their signs; those that differ from 0 with a mark."""
        for (left, right), found in self._of("change"):
            yield (f"{left} to {right}", *map(_change, found))

    def _of(self, part: str) -> Iterator[tuple[_Key, Sequence[Row]]]:
        return ((key, rows[: len(self.labels)]) for (of, key), rows in self.answers.items() if of == part)


def _key(row: Row) -> _Key:
    """What rows of one line of a table have in common."""
    if row["part"] == "change":
        return str(row["left"]), str(row["right"])
    first, last = row["period"], row.get("period_last")
    return (str(first),) if last is None else (str(first), str(last))


def _value(row: Row) -> str:
    return with_error(row["value"], row["standard_error"], row.get("unit") or "")


def _change(row: Row) -> str:
    sign, mark = "+" if row["value"] > 0 else "", "" if row["verdict"] == "undecided" else " *"
    return f"{sign}{_value(row)}{mark}"


def _doubts(estimate: EstimateDocument) -> list[str]:
    """What points warn of, of the first few; a chart of rare events has a warning for each."""
    names = {"period": "period {0}", "window": "window {0} to {1}", "change": "change from {0} to {1}"}
    found = list(
        dict.fromkeys(
            f"{names[str(row['part'])].format(*_key(row))}: {row['warnings']}"
            for row in estimate.answers()
            if row.get("warnings")
        )
    )
    left = len(found) - _MOST_DOUBTS
    return [*found[:_MOST_DOUBTS], *([f"{quantity(left, 'more such warning')}: see the CSV"] if left > 0 else [])]


def moment(unix: int) -> str:
    """As readers see it."""
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%d %H:%M UTC")


def iso_moment(unix: int) -> str:
    """As tables have it."""
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
