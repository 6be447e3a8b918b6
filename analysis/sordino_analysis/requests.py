"""From a question of any kind and options to the request that plans it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from sordino_analysis.kinds.base import KindOfQuestion
from sordino_analysis.kinds.registry import kind_of
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.planning_request import Interrupted, PlanningRequest, never, request_digest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_analysis.questions.question import WrittenQuestion
from sordino_shared.protocol import Digest


def kind_of_question(question: WrittenQuestion) -> KindOfQuestion:
    """The kind of a question that was read."""
    kind = kind_of(question.canonical())
    assert kind is not None, "what was read has one kind"
    return kind


def request_for(question: WrittenQuestion, options: PlanningOptions) -> PlanningRequest:
    """The request of the question's kind; raises InvalidValue where the options do not fit it."""
    return kind_of_question(question).request_class().of(question, options)


@dataclass(frozen=True, eq=False)
class StoredRequest:
    """A request by the canonical text of a question that was read and built before: it is read again when planned."""

    text: str
    options: PlanningOptions

    def check(self, queries: int) -> None:
        """Raise InvalidValue where the options do not fit the question, which has so many queries."""
        self._kind.request_class().check(self.options, queries)

    @property
    def digest(self) -> Digest:
        """Names all that the plan depends on, as the request of the question that was read does."""
        unused = self._kind.request_class().unused
        return request_digest(Digest.of(self.text.encode()), self.options, unused)

    def compile(self, progress: ProgressCallback = ignore_progress, interrupted: Interrupted = never) -> FinishedPlan:
        """The plan of the question, which is read here, once."""
        request = self._kind.request_class().of(self._kind.parse(self._document), self.options)
        return request.compile(progress, interrupted)

    def with_time_limit(self, seconds: float) -> Self:
        """The same request with at most so many seconds."""
        return replace(self, options=self.options.with_time_limit(seconds))

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.text)
        return document

    @property
    def _kind(self) -> KindOfQuestion:
        kind = kind_of(self._document)
        assert kind is not None, "what was read has one kind"
        return kind
