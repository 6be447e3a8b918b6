"""Answers to the questions that somebody asks of an estimate: a tuple of values, and a table."""

from __future__ import annotations

from functools import cached_property

from sordino_analysis.analyst.display import AnswersShown
from sordino_analysis.answers.shown import ShownAnswers, shown_answers
from sordino_analysis.answers.table import AnswerTable, joined
from sordino_analysis.estimation.answer_on_demand import Answer, OnDemand
from sordino_analysis.kinds.on_demand import OnDemandKind, remarks
from sordino_analysis.questions.linear.on_demand import QuestionKind


class AskedAnswers(AnswersShown, tuple[Answer, ...]):
    """An answer for each question of one kind; `table`, `columns()` and frames have a row for each."""

    def __new__(cls, found: OnDemand, kind: QuestionKind, *, epsilon: float, mechanism: str) -> AskedAnswers:
        made = super().__new__(cls, found.answers)
        made._found, made._kind = found, kind
        made._plan = {"epsilon": epsilon, "mechanism": mechanism}
        return made

    _found: OnDemand
    _kind: QuestionKind
    _plan: dict[str, str | float]

    @cached_property
    def table(self) -> AnswerTable:
        """The answers under the names of docs/results.md, one a row."""
        found = self._found
        return AnswerTable.of_columns(
            found.columns() | {"kind": [self._kind] * len(self)},
            users=found.users,
            compared=found.compared,
            level=found.level,
            bias_bound=found.bias_bound,
            warnings=joined(found.warnings),
            **self._plan,
        )

    def _shown(self) -> ShownAnswers:
        shown = shown_answers(self.table, "question", parts=OnDemandKind.parts)
        return shown.titled("", *remarks(self.table))
