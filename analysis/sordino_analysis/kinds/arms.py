"""The answers of each arm of a closed experiment, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.answers.shown import ShownAnswers
from sordino_analysis.figures import chosen
from sordino_analysis.kinds.base import KindOfAnswers
from sordino_shared.quantities import quantity

# Answers of an arm that a terminal shows: more are in the CSV.
_SHOWN = 12


class ArmReports(BaseModel):
    """An arm, its weight of 65536, and how many reports it has."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str
    weight: int
    reports: int


class ArmsExtras(Extras):
    """Answers of the arms of one campaign, each from its own reports; the document never changes.

    The band holds the answers of one arm at once. `comparisons` of two arms say whether they differ.
    """

    question: str = Field(description="Kind of the campaign's question.")
    arms: tuple[ArmReports, ...]


class ArmsKind(KindOfAnswers):
    """A row for each arm and query; `users` are those of the row's arm."""

    name = "arms"
    extras = ArmsExtras
    printed = _SHOWN
    terms = ("campaign_id", "bias_bound", "compared", "plan_device", "plan_analyst")

    def tables(self, estimate: EstimateDocument, most: int | None) -> Sequence[ShownAnswers]:
        """One table for each arm that has reports."""
        of, cells = _extras(estimate), estimate.table.cells("arm")
        found = []
        for arm in of.arms:
            rows = [row for row, name in enumerate(cells) if name == arm.name]
            if rows:
                shown = self.readable(estimate, rows if most is None else rows[:most])
                headings = (arm.name, *shown.headings[1:])
                title = f"{arm.name}: {quantity(arm.reports, 'user')}"
                found.append(replace(shown, title=title, headings=headings, notes=(), warnings=()))
        return [*found[:-1], replace(found[-1], notes=tuple(self.notes(estimate)), warnings=of.warnings)]

    def notes(self, estimate: EstimateDocument) -> Sequence[str]:
        """How many users each arm has, what an answer costs, and what the bands hold."""
        reports = ", ".join(f"{each.name} {quantity(each.reports, 'user')}" for each in _extras(estimate).arms)
        of = f"ε = {chosen(estimate.epsilon)}, mechanism {estimate.terms['mechanism']}"
        answers = quantity(int(estimate.terms["compared"] or 0), "answer")
        return reports, f"{of}; the band of an arm holds its {answers} at once"

    def caption(self, estimate: EstimateDocument, users: str) -> str:
        """Whose answers stand one below the other."""
        return f"arms {', '.join(each.name for each in _extras(estimate).arms)}; ε = {chosen(estimate.epsilon)}"


def document_of_arms(arms: Sequence[tuple[ArmReports, EstimateDocument | None]]) -> EstimateDocument:
    """One document from those of the arms, None where an arm has no reports; one of them has some.

    The documents are of one plan, so that their terms but `users` are the same.
    """
    filled = [(arm, found) for arm, found in arms if found is not None]
    first = filled[0][1]
    rows: list[dict[str, Cell]] = [
        {"arm": arm.name, "users": found.users, **answer} for arm, found in filled for answer in found.answers()
    ]
    warnings = [f"{arm.name}: {text}" for arm, found in filled for text in found.extras.warnings]
    warnings += [f"{arm.name}: no reports, so no answers" for arm, found in arms if found is None]
    kept = {*ArmsKind.common_terms, *ArmsKind.terms, "target", "validity"}
    extras = ArmsExtras(warnings=tuple(warnings), question=first.kind, arms=tuple(arm for arm, _ in arms))
    return EstimateDocument.of_rows(
        ArmsKind.name, rows, extras, **{name: cell for name, cell in first.terms.items() if name in kept}
    )


def _extras(estimate: EstimateDocument) -> ArmsExtras:
    assert isinstance(estimate.extras, ArmsExtras)
    return estimate.extras
