"""The strings of a series: those that each period listed, which of them are new, and how shares changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.shown import Row, ShownAnswers
from sordino_analysis.documents.string_queries import PERIODS_AT_ONCE
from sordino_analysis.figures import amount, chosen, span
from sordino_analysis.kinds.base import KindOfAnswers
from sordino_analysis.kinds.series import ListedPeriod, PeriodsExtras, moment, periods_of
from sordino_analysis.kinds.strings import WATCHED_ONLY
from sordino_analysis.percentages import percent
from sordino_shared.quantities import quantity

# Listed strings of the newest period, and changes of all periods, that a table for readers has.
_MOST_SHOWN = 100


class StringSeriesExtras(PeriodsExtras):
    """The closed periods of a series of strings in a range.

    The column `part` says what a row is about: a string that a `period` lists, or the `change` of one since the
    estimated period before. `sentence` says since when a string is listed. Bands of one period hold all at once.
    """

    error: float = Field(description="Of the list and the bands of each period, and of all changes of 26 periods.")


class StringSeriesKind(KindOfAnswers):
    """A row for each listed string of a period and for each change; `users` are those of the row."""

    name = "string_series"
    extras = StringSeriesExtras
    row = "string"
    terms = ("campaign_id", "bias_bound", "plan_device", "plan_analyst")

    def tables(self, estimate: EstimateDocument, most: int | None) -> Sequence[ShownAnswers]:
        """The periods, the strings of the newest one, and the changes that are sure."""
        lines = _Lines.of(estimate)
        newest = max(lines.listed, default=None)
        made = [
            ShownAnswers(
                title="Periods",
                headings=("period", "from", "state", "reports", "listed", "new"),
                rows=tuple(lines.periods()),
            )
        ]
        band = f"{percent(lines.level)} band"
        if newest is not None:
            listed = tuple(lines.strings(newest))
            headings: tuple[str, ...] = (f"string of period {newest}", "share", band, "listed")
            made.append(ShownAnswers(title=f"Strings of period {newest}", headings=headings, rows=listed))
        if changes := tuple(lines.changes()):
            headings = ("change", "string", "earlier", "later", band, "verdict")
            made.append(ShownAnswers(title="Changes", headings=headings, rows=changes))
        warnings = tuple(dict.fromkeys(estimate.extras.warnings))
        return [*made[:-1], replace(made[-1], notes=tuple(self.notes(estimate)), warnings=warnings)]

    def statements(self, estimate: EstimateDocument) -> Sequence[str]:
        """What holds of the lists and of the changes."""
        level = percent(1 - _extras(estimate).error)
        return (
            "each string listed is held by at least one device that reported in the period, and its share lies in its "
            f"interval: with probability {level} or more both hold for all strings of one period's list, whatever the "
            "devices hold, if reports follow the protocol",
            "a string is called new where the period is the first to list it and its share is above that of the period "
            f"before: with probability {level} or more all such changes of {PERIODS_AT_ONCE} periods are so among the "
            "active devices; a string that is first listed and not new may have been as common before",
        )

    def notes(self, estimate: EstimateDocument) -> Sequence[str]:
        """What an answer costs a device."""
        of = _extras(estimate)
        return (
            f"ε = {chosen(estimate.epsilon)}, one answer in {quantity(of.slots, 'period')}, mechanism "
            f"{estimate.terms['mechanism']}; CSV and JSON have the strings of all periods",
        )

    def caption(self, estimate: EstimateDocument, users: str) -> str:
        """What an answer costs."""
        of = _extras(estimate)
        return f"{of.workload}, ε = {chosen(estimate.epsilon)} of one answer in {quantity(of.slots, 'period')}"


def _extras(estimate: EstimateDocument) -> StringSeriesExtras:
    assert isinstance(estimate.extras, StringSeriesExtras)
    return estimate.extras


@dataclass(frozen=True)
class _Lines:
    """The lines of the tables, from the rows of each period and those of the changes."""

    shown: Sequence[ListedPeriod]
    listed: Mapping[int, Sequence[Row]]
    changed: Sequence[Row]
    level: float

    @classmethod
    def of(cls, estimate: EstimateDocument) -> _Lines:
        listed: dict[int, list[Row]] = {}
        changed: list[Row] = []
        for row in estimate.answers():
            if row["part"] == "change":
                changed.append(row)
            else:
                listed.setdefault(_period_of(row), []).append(row)
        return cls(periods_of(estimate), listed, changed, 1 - _extras(estimate).error)

    def periods(self) -> Iterator[tuple[str, ...]]:
        """Every period, the newest first; the cells of one without an estimate are empty."""
        new = Counter(number for number, rows in self.listed.items() for row in rows if _is_new(row))
        for each in reversed(self.shown):
            found = self.listed.get(each.period, ())
            listed = sum(row["sentence"] != WATCHED_ONLY for row in found)
            counts = (str(listed), str(new[each.period])) if each.state == "estimated" else ("", "")
            yield (str(each.period), moment(each.start), each.state, f"{each.reports:,}", *counts)

    def strings(self, number: int) -> Iterator[tuple[str, ...]]:
        """The strings of a period, with how long they have been listed."""
        for row in self.listed[number][:_MOST_SHOWN]:
            yield (str(row["label"]), _share(row, "value"), _band(row), str(row["sentence"]))

    def changes(self) -> Iterator[tuple[str, ...]]:
        """Changes with a verdict, the newest first."""
        sure = [row for row in self.changed if row["verdict"] != "undecided"]
        for row in sorted(sure, key=lambda row: -_period_of(row))[:_MOST_SHOWN]:
            named = f"{row['left']} to {str(row['right']).removeprefix('period ')}"
            shares = (_share(row, "left_value"), _share(row, "right_value"))
            yield (named, str(row["label"]), *shares, _band(row), str(row["verdict"]))


def _period_of(row: Row) -> int:
    return int(row["period"])


def _is_new(row: Row) -> bool:
    return bool(row["sentence"] == NEW)


# What `sentence` says of a string whose share is above that of the period before, and that no earlier one listed.
NEW = "new"


def _share(row: Row, name: str) -> str:
    return amount(max(0.0, float(row[name])), "share", row["standard_error"])


def _band(row: Row) -> str:
    return span((float(row["band_lower"]), float(row["band_upper"])), "share", row["standard_error"])
