"""The common strings in the reports of a round: a certified list, and an interval for each that holds with all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.analyst.arguments import WrongType
from sordino_analysis.analyst.display import AnswersShown, shown
from sordino_analysis.analyst.reports import Reports, checked_reports
from sordino_analysis.analyst.string_plans import StringPlan
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.shown import ShownAnswers, shown_answers
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.linear import EstimationError
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.kinds.strings import StringExtras, StringsKind, certified_rows
from sordino_analysis.kinds.strings_document import strings_document
from sordino_analysis.strings.asked import asked_strings

# Of what is asked of single strings.
_LEVEL = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class AskedStrings(AnswersShown):
    """Shares of m strings that somebody asked for, in the order of the `answers`."""

    answers: AnswerTable

    @property
    def table(self) -> AnswerTable:
        """The answers under the names of docs/results.md, one a row."""
        return self.answers

    @property
    def values(self) -> Floats:
        """(m,) the shares, cut to [0, 1]."""
        return np.array(self.table.numbers("value"))

    @property
    def intervals(self) -> Floats:
        """(m, 2) for a string that was fixed before anybody looked."""
        return _ends(self.table, "")

    @property
    def band(self) -> Floats:
        """(m, 2) for all texts at once: use it for a string that was chosen by its answer."""
        return _ends(self.table, "band_")

    def _shown(self) -> ShownAnswers:
        return shown_answers(self.table, "string")


def _ends(table: AnswerTable, prefix: str) -> Floats:
    ends = [table.numbers(f"{prefix}{end}") for end in ("lower", "upper")]
    return np.stack(ends, axis=-1)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StringEstimate(AnswersShown):
    """The m certified strings of a round, by falling shares, then watched ones that are not; .01 is one point.

    `strings` are their labels and `kinds` say what they are: a "string", what some string "begins with", or "no text".
    Intervals are the `band`: they hold for all candidates at once. `reports` are those that all of it was found in.
    """

    plan: StringPlan
    document: EstimateDocument
    reports: NDArray[np.uint8]

    @property
    def strings(self) -> list[str]:
        """(m,) the strings; invisible characters are written as <U+202E>, and "…" is behind one that is cut."""
        return [str(label) for label in self.table.cells("label")]

    @property
    def kinds(self) -> list[str]:
        """(m,) "string", "begins with" or "no text"."""
        return [str(kind) for kind in self.table.cells("kind")]

    @property
    def values(self) -> Floats:
        """(m,) shares, cut to [0, 1]; they are too high on average where a string was just certified."""
        return np.array(self.table.numbers("value"))

    @property
    def uncut(self) -> Floats:
        """(m,) the shares, unbiased for a string that was fixed before."""
        return np.array(self.table.numbers("uncut"))

    @property
    def standard_errors(self) -> Floats:
        """(m,) about the users who reported."""
        return np.array(self.table.numbers("standard_error"))

    @property
    def band(self) -> Floats:
        """(m, 2) intervals that hold for all candidates at once, about the users who reported."""
        return _ends(self.table, "band_")

    @property
    def certified(self) -> NDArray[np.bool_]:
        """(m,) whether some device holds the string; the others are there since they are watched."""
        return np.array(certified_rows(self.table), dtype=np.bool_)

    @property
    def least_share(self) -> float:
        """Certified strings of a smaller share are not shown, unless they are watched: a policy, and no guarantee."""
        return self._extras.least_share

    @property
    def hidden(self) -> int:
        """How many certified strings are not shown."""
        return self._extras.hidden

    @property
    def users(self) -> int:
        """How many reports there are."""
        return self.document.users

    @property
    def level(self) -> float:
        """The level of the list and of the band."""
        return self.table.level

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the answers warn of."""
        return self.table.warnings

    @property
    def candidates(self) -> int:
        """Strings that the levels chose, of which the listed ones are certified."""
        return self._extras.candidates

    @property
    def share_found(self) -> float:
        """A string of this share is listed with 90 %; 1 where none is."""
        return self._extras.found

    @property
    def seen(self) -> tuple[str, ...]:
        """Common beginnings without a certified string, and without a number."""
        return self._extras.seen

    @property
    def statements(self) -> Sequence[str]:
        """What holds of the list, whatever devices hold."""
        return StringsKind().statements(self.document)

    def answer(self, *texts: str) -> AskedStrings:
        """The shares of strings that need not be listed, from the level that chose no string.

        `lower` and `upper` are for a string that was fixed before anybody looked, the band is for all texts at once.
        Raises WrongType for what is no text, InvalidValue for a text of more than 64 KiB.
        """
        for text in texts:
            if not isinstance(text, str):
                raise WrongType(f"ask for a string as a text, not {text!r}", text)
        columns = asked_strings(
            self.plan.strings, [self.reports], texts, spread=len(self.reports) / self.document.users
        )
        terms = {name: self.document.terms[name] for name in ("users", "epsilon", "bias_bound", "mechanism")}
        return AskedStrings(AnswerTable.of_columns(columns, compared=len(texts), level=_LEVEL, **terms))

    @property
    def table(self) -> AnswerTable:
        """The strings under the names of docs/results.md, one a row."""
        return self.document.table

    @property
    def _extras(self) -> StringExtras:
        assert isinstance(self.document.extras, StringExtras)
        return self.document.extras

    def _shown(self) -> ShownAnswers:
        answers = StringsKind().readable(self.document, shown(len(self.table)))
        head, *sentences = self.statements
        said = replace(answers, notes=(*answers.notes, *sentences))
        return said.titled(f"Strings of {self.plan.strings.text.name}: {head}")


def estimate_strings(plan: StringPlan, reports: Reports, blanket: int = 0) -> StringEstimate:
    """The certified strings in (n, width) reports of a plan, `blanket` of them random ones of a shuffler.

    Raises EstimationError where these say nothing.
    """
    if isinstance(reports, Aggregate):
        raise EstimationError(
            "strings are found in the reports themselves: give the (n, width) reports, not what they add up to"
        )
    payloads = checked_reports(plan, reports)
    document = strings_document(plan.device, plan.analyst, [payloads], blanket=blanket)
    return StringEstimate(plan=plan, document=document, reports=payloads)
