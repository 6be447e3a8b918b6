"""Answers to questions that somebody asks of a closed campaign, of whatever kind they are."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.answers.shown import about
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.kinds.base import KindOfAnswers


class OnDemandExtras(Extras):
    """Answers to questions of one kind about a closed campaign; they never change.

    Use `lower` and `upper` for a question that was fixed before anybody looked. The bands of all `compared` questions
    of this kind together contain all answers with the stated level.
    """

    round: int = Field(description="Index of the round that the reports came from.")


def unanswered(table: AnswerTable) -> list[str]:
    """A sentence for each answer that has no number, or may have none."""
    rows = zip(table.cells("label"), table.cells("sentence"), strict=True)
    return [f"{label}: {sentence}" for label, sentence in rows if sentence is not None]


def remarks(table: AnswerTable) -> list[str]:
    """The sentences of answers about a group, and of quantiles that may be beyond all numbers."""
    return unanswered(table) if "given" in table.columns or "member" in table.columns else []


class OnDemandKind(KindOfAnswers):
    """Answers from the reports of a round; what was asked is in the column `kind`."""

    name = "answers"
    extras = OnDemandExtras
    row = "question"
    common_terms = ("campaign_id", "users", *KindOfAnswers.common_terms)
    terms = ("bias_bound", "target", "compared", "plan_device", "plan_analyst")
    parts = (
        *("best guess", "answer", "std. error", "interval", "band"),
        *("share of the group", "p-value of the assumption"),
    )

    def notes(self, estimate: EstimateDocument) -> Sequence[str]:
        """Of rules the assumption that the answers rest on; of a group what its answers leave open, in words."""
        table = estimate.table
        if said := remarks(table):
            return said
        sentences = [str(cell) for cell in table.cells("sentence") if cell is not None]
        lines = [f"on average over databases, not for each of them: {text}" for text in sentences[:1]]
        if sentences and None in table.cells("population_lower"):
            lines.append("an answer without an interval has none: the reports contradict the assumption")
        return lines

    def caption(self, estimate: EstimateDocument, users: str) -> str:
        """With how many answers the band holds."""
        return about(estimate.table)
