"""What the estimate of a period of strings takes from the one before: strings that were listed, and what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.documents.string_queries import PERIODS_AT_ONCE
from sordino_analysis.kinds.strings import ListedString, StringChange, StringExtras
from sordino_analysis.planning.rounds import EarlierPeriod
from sordino_analysis.strings.changes import changes_since, compared
from sordino_analysis.strings.labels import kind_of, label_of
from sordino_analysis.strings.reports import HELD_OUT, StringReports
from sordino_analysis.strings.search import FoundStrings, StringDomain

# A period has at most so many candidates that it did not choose: each takes a share of the error.
MOST_LISTED = 1000


@dataclass(frozen=True, kw_only=True)
class OfPeriod:
    """What was listed so far, changes since the period `since`, and what is warned of; empty without a series."""

    period: int | None = None
    listed: tuple[ListedString, ...] = ()
    since: int | None = None
    changes: tuple[StringChange, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def extras(self) -> dict[str, Any]:
        """The fields of the document."""
        return {"period": self.period, "listed": self.listed, "since": self.since, "changes": self.changes}


def of_period(
    number: int | None, before: EarlierPeriod | None, strings: StringDomain, found: FoundStrings, error: float
) -> OfPeriod:
    """What the estimate of the period `number` keeps, after the one `before`; nothing of a campaign of one round."""
    if number is None:
        return OfPeriod()
    since, changes, warnings = changed_since(before, strings, found, error)
    listed = listed_with(listed_before(before), strings, found, number)
    return OfPeriod(period=number, listed=listed, since=since, changes=changes, warnings=warnings)


def listed_before(before: EarlierPeriod | None) -> tuple[ListedString, ...]:
    """The strings that earlier periods of the series listed; none for a campaign of one round.

    A period that failed and was estimated late gives its list to the next one that is estimated.
    """
    if before is None:
        return ()
    known: dict[str, ListedString] = {}
    for estimate in (before.estimate, *reversed(before.late)):
        for each in _extras(estimate).listed:
            other = known.get(each.code, each)
            ends = {"first": min(each.first, other.first), "last": max(each.last, other.last)}
            known[each.code] = other.model_copy(update=ends)
    return tuple(known.values())[:MOST_LISTED]


def known_codes(before: EarlierPeriod | None) -> list[int]:
    """The codes of those strings, best known first: candidates of the next period."""
    return [int(f"0x{each.code}", 0) for each in listed_before(before)]


def listed_with(
    before: Sequence[ListedString], strings: StringDomain, found: FoundStrings, number: int
) -> tuple[ListedString, ...]:
    """Those and what the period `number` lists, the newest first, without what 26 periods have not listed."""
    first = {each.code: each.first for each in before}
    sure = zip(found.codes, found.texts, found.listed.tolist(), strict=True)
    own = []
    for code, text in ((code_text(strings, code), text) for code, text, listed in sure if listed):
        seen = first.get(code, number)
        own.append(ListedString(kind=kind_of(text), label=label_of(text), code=code, first=seen, last=number))
    now = {each.code for each in own}
    kept = [each for each in before if each.code not in now and number - each.last < PERIODS_AT_ONCE]
    return tuple([*own, *kept][:MOST_LISTED])


def changed_since(
    before: EarlierPeriod | None, strings: StringDomain, found: FoundStrings, error: float
) -> tuple[int | None, tuple[StringChange, ...], tuple[str, ...]]:
    """The earlier period, changes since it, and what is to be warned of where nothing can be said."""
    if before is None:
        return None, (), ()
    if before.payloads is None:
        return None, (), (f"the reports of period {before.number} were purged, so no change since it is told",)
    reports = StringReports.of(strings.randomizer, before.payloads())
    if not len(reports.levels[HELD_OUT]):
        return None, (), (f"no report of period {before.number} counts strings, so no change since it is told",)
    random = _extras(before.estimate).blanket or 0
    changes = changes_since(strings, found, reports, error, spread=reports.count / (reports.count - random))
    at = compared(found)
    rows = [
        StringChange(
            kind=kind_of(text),
            label=label_of(text),
            earlier=earlier,
            later=later,
            standard_error=deviation,
            lower=low,
            upper=high,
            verdict=verdict,
        )
        for text, shown, verdict, earlier, later, deviation, (low, high) in zip(
            (found.texts[each] for each in at),
            (found.listed | found.watched)[at].tolist(),
            changes.verdicts,
            changes.before.tolist(),
            changes.after.tolist(),
            changes.standard_errors.tolist(),
            changes.interval.tolist(),
            strict=True,
        )
        # A share that is no longer shown was shown before it fell.
        if shown or (verdict != "undecided" and max(earlier, later) >= found.least_share)
    ]
    return before.number, tuple(rows), ()


def _extras(estimate: EstimateDocument) -> StringExtras:
    extras = estimate.extras
    assert isinstance(extras, StringExtras), "periods of one campaign have one kind"
    return extras


def code_text(strings: StringDomain, code: int) -> str:
    """The bits of a code as hex digits."""
    return f"{code:0{-(-strings.text.depth // 4)}x}"
