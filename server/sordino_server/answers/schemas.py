"""Answers on demand as JSON: the document of every estimate, with the round that they come from."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sordino_analysis.answers.document import Extras
from sordino_analysis.questions.linear.on_demand import QuestionKind
from sordino_server.estimates.schemas import schema_of

AnswersKind = QuestionKind | Literal["rule"]
# The discriminator of the documents; what was asked is in the column `kind`.
KIND = "answers"


class AnswersExtras(Extras):
    """Answers to questions of one kind about a closed campaign; they never change.

    Use `lower` and `upper` for a question that was fixed before anybody looked. The bands of all `compared` questions
    of this kind together contain all answers with the stated level.
    """

    round: int = Field(description="Index of the round that the reports came from.")


AnswersDocument = schema_of("Answers", KIND, AnswersExtras)
