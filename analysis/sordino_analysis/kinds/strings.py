"""Common strings that nobody can list: which they are and how many devices hold each, from one round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.answers.shown import ShownAnswers
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.figures import figure
from sordino_analysis.kinds.base import KindOfQuestion, RequestClass, SimulatedUsers
from sordino_analysis.kinds.comparison import JudgedEstimate, TruthComparison
from sordino_analysis.percentages import percent
from sordino_analysis.questions.linear.specification import form_of_queries
from sordino_analysis.strings.specification import StringsSpecification, parse_strings
from sordino_shared.domains import Domain
from sordino_shared.protocol import Manifest
from sordino_shared.quantities import quantity

if TYPE_CHECKING:
    from sordino_analysis.documents.protocol_plans import AnyProtocolPlan
    from sordino_analysis.planning.rounds import ClosedRound

# The lower end of what is certified, and whose interval begins at 0.
_ABOVE_NONE = "above 0"
# Of beginnings without a certified end a reader gets so many.
_SHOWN_SEEN = 10
# Of all reports, of which the statements say what forged ones do.
_FORGED = 0.01


# What `sentence` says of rows, where strings are watched.
_CERTIFIED, _CERTIFIED_WATCHED, WATCHED_ONLY = "certified", "certified, watched", "watched, not certified"


def why_listed(*, certified: bool, watched: bool) -> str:
    """Why a string is in the table."""
    if certified:
        return _CERTIFIED_WATCHED if watched else _CERTIFIED
    return WATCHED_ONLY


def certified_rows(table: AnswerTable) -> list[bool]:
    """(rows,) whether each string is certified; the others are there since they are watched."""
    if "sentence" not in table.columns:
        return [True] * len(table)
    return [sentence != WATCHED_ONLY for sentence in table.cells("sentence")]


class ListedString(BaseModel):
    """A string that was listed in a period of a series: the bits of its code as hex digits."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    label: str
    code: str
    first: int = Field(description="The first period that listed it.")
    last: int = Field(description="The last period that listed it.")


class StringChange(BaseModel):
    """The share of a string that the paths of a period chose, less that of the earlier period."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    label: str
    earlier: float = Field(description="Unbiased share of the earlier period.")
    later: float = Field(description="Unbiased share of this period.")
    standard_error: float
    lower: float
    upper: float
    verdict: Literal["higher", "lower", "undecided"]


class StringExtras(Extras):
    """What else an estimate of strings says; `reports` are those of the held-out level and of each level in order.

    Of a period of a series it has what was listed so far, and how shares changed since the estimated period before.
    """

    workload: str
    beam: int
    candidates: int = Field(description="Strings that the levels chose, of which the listed ones are certified.")
    reports: tuple[int, ...]
    found: float = Field(description="A string of that share is listed with 90 %; 1 where none is.")
    forged: float = Field(description="Times a share of forged reports: points that they add to one string.")
    forged_held_out: float = Field(description="The same where all of them are of the level that counts.")
    seen: tuple[str, ...] = Field(description="Beginnings that are common, without a certified string and a number.")
    watched: int = Field(0, description="Strings that were candidates before any report came.")
    found_watched: float | None = Field(
        None, description="A watched string of that share is certified with 90 %; null where none is watched."
    )
    least_share: float = Field(0.0, description="Certified strings of a smaller share are not shown, unless watched.")
    hidden: int = Field(0, description="How many certified strings are not shown.")
    blanket: int | None = Field(
        None, description="Random reports of a shuffler, for which shares are spread; `users` are the others."
    )
    period: int | None = Field(None, description="Number of the period of a series.")
    listed: tuple[ListedString, ...] = Field(
        (),
        description="Of a series: strings that were listed in the last 26 periods, which are candidates of the next.",
    )
    since: int | None = Field(None, description="Of a series: the earlier period that `changes` compare with.")
    changes: tuple[StringChange, ...] = Field(
        (), description="Of a series: changes of listed strings, and of others with a verdict."
    )


class StringsKind(KindOfQuestion):
    """The strings of a text that a certified share of the devices holds."""

    name = "strings"
    field = "queries"
    form = StringsSpecification
    extras = StringExtras
    row = "string"
    reads_reports = True
    remembers_periods = True
    terms = ("compared", "plan_device", "plan_analyst")
    why_unused = "they apply to other questions; strings have one plan"

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """Whether the queries are strings."""
        return "queries" in document and form_of_queries(document["queries"]) == "strings"

    def parse(self, document: Mapping[str, Any]) -> StringsSpecification:
        """The question that is written."""
        return parse_strings(document)

    def request_class(self) -> RequestClass:
        """Levels by formulas."""
        from sordino_analysis.strings.request import StringsRequest

        return StringsRequest

    def held_domain(self, question: Any) -> Domain:
        """The text and its pieces, with the salt of no plan."""
        domain: Domain = question.held_domain()
        return domain

    def follow(
        self, manifest: Manifest, plan: AnyProtocolPlan | None, closed: Sequence[ClosedRound], *, conclude: bool
    ) -> EstimateDocument:
        """The strings in the reports of the last closed round."""
        from sordino_analysis.kinds.strings_document import estimated

        return estimated(manifest, closed[-1])

    def readable(self, estimate: EstimateDocument, rows: Sequence[int]) -> ShownAnswers:
        """Some rows of the table; a listed string is held by some device, also where its interval begins at 0."""
        shown, lower = super().readable(estimate, rows), estimate.table.cells("band_lower")
        column = next((at for at, heading in enumerate(shown.headings) if "band" in heading), None)
        if column is None:
            return shown
        texts, certified = [list(row) for row in shown.rows], certified_rows(estimate.table)
        for row, text in zip(rows, texts, strict=True):
            if lower[row] == 0 and certified[row]:
                text[column] = _ABOVE_NONE + text[column][text[column].index(" …") :]
        headings = shown.headings
        if "sentence" in estimate.table.columns:
            headings, sentences = (*headings, "listed as"), estimate.table.cells("sentence")
            texts = [[*text, str(sentences[row])] for row, text in zip(rows, texts, strict=True)]
        return replace(shown, headings=headings, rows=tuple(map(tuple, texts)))

    def statements(self, estimate: EstimateDocument) -> Sequence[str]:
        """What holds of the list, whatever devices hold."""
        of = estimate.extras
        assert isinstance(of, StringExtras)
        level = percent(estimate.table.level)
        # What is certified and not shown is told apart in a note.
        certified = sum(certified_rows(estimate.table)) + of.hidden
        head = f"{quantity(certified, 'string')} certified of {quantity(of.candidates, 'candidate')}"
        claim = (
            "each string listed is held by at least one device that reported, and its share lies in its interval: "
            f"with probability {level} or more both hold for all strings of this list, whatever the devices hold, if "
            "reports follow the protocol"
        )
        found = (
            f"a string that {percent(of.found, 2)} of the devices hold is listed with 90 %; rarer ones may be missing"
            if of.found < 1
            else "of so few reports even a string that all devices hold is listed with less than 90 %"
        )
        one, counted = (percent(_FORGED * each, 2) for each in (of.forged, of.forged_held_out))
        forged = f"1 % of forged reports can add up to {one} to one string ({counted} to one that is listed anyway)"
        if of.found < 1:
            forged += f", and can put a string on the list from {percent(of.found / of.forged, 2)} on"
        return (head, claim, found, *_of_watched(of), forged)

    def notes(self, estimate: EstimateDocument) -> Sequence[str]:
        """Which number to quote, and common beginnings without a certified string."""
        of = estimate.extras
        assert isinstance(of, StringExtras)
        quoted = "a share is too high on average where it was just certified: quote the interval"
        said = (quoted, *_of_hidden(of))
        if not of.seen:
            return said
        more = f" and {len(of.seen) - _SHOWN_SEEN} more" if len(of.seen) > _SHOWN_SEEN else ""
        shown = ", ".join(of.seen[:_SHOWN_SEEN])
        return (*said, f"common beginnings without a certified string, and without a number: {shown}{more}")

    def truth(self, users: SimulatedUsers, estimate: EstimateDocument) -> Sequence[float]:
        """Which share of the users hold each listed string."""
        from sordino_analysis.kinds.strings_document import true_shares

        shares = true_shares(users.domain, users.values)
        rows = zip(estimate.table.cells("kind"), estimate.table.cells("label"), strict=True)
        return [shares.get((str(kind), str(label)), 0.0) for kind, label in rows]

    def judged(self, estimate: EstimateDocument, compared: TruthComparison) -> JudgedEstimate:
        """Whether every string of the list is one that some user holds."""
        rows = zip(compared.labels, compared.truth.tolist(), certified_rows(estimate.table), strict=True)
        nobody = [label for label, share, certified in rows if certified and not share]
        lines = [f"listed, and nobody holds: {', '.join(nobody)}"] if nobody else ["every string listed is held"]
        return JudgedEstimate({"listed_that_nobody_holds": len(nobody)}, lines, not nobody)


def _of_watched(of: StringExtras) -> Iterator[str]:
    """How watched strings are candidates; nothing where none is."""
    if of.found_watched is not None:
        certified = (
            f"one that {percent(of.found_watched, 2)} of the devices hold is certified with 90 %"
            if of.found_watched < 1
            else "of so few reports even one that all devices hold is certified with less than 90 %"
        )
        yield (
            f"{quantity(of.watched, 'string')} watched, and in the table also where nothing is certified of it: the "
            f"interval of each holds with all others, and together they have half of the error; {certified}"
        )


def _of_hidden(of: StringExtras) -> Iterator[str]:
    """Which certified strings are not shown, as the owner of the campaign decided."""
    if of.least_share:
        hidden = f"; {of.hidden:,} of the certified ones are rarer" if of.hidden else ""
        yield (
            f"strings below least_share, {figure(100 * of.least_share, 2)} %, are not shown{hidden}: a policy, and no "
            "guarantee of who holds a string"
        )
