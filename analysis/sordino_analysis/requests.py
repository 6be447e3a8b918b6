"""From a question of any kind and options to the request that plans it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.planning_request import Interrupted, PlanningRequest, never, request_digest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_analysis.questions.specifications import AnySpecification, kind_of, parse_either
from sordino_shared.protocol import Digest

if TYPE_CHECKING:
    from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
    from sordino_analysis.planning.linear_request import LinearRequest


# A planner takes a second to import, and a process that hands a request on needs none.
def _linear() -> type[LinearRequest]:
    from sordino_analysis.planning.linear_request import LinearRequest

    return LinearRequest


def _pairwise() -> type[PairwiseRequest]:
    from sordino_analysis.pairwise.pairwise_request import PairwiseRequest

    return PairwiseRequest


# By the field that only this kind of question has.
REQUESTS: Mapping[str, Callable[[], type[LinearRequest] | type[PairwiseRequest]]] = {
    "queries": _linear,
    "statistic": _pairwise,
}


def request_for(specification: AnySpecification, options: PlanningOptions) -> PlanningRequest:
    """The request of the specification's kind; raises InvalidValue where the options do not fit it."""
    of: Callable[[Any, PlanningOptions], PlanningRequest] = _request_class(specification).of
    return of(specification, options)


def _request_class(question: Mapping[str, Any] | AnySpecification) -> type[LinearRequest] | type[PairwiseRequest]:
    kind = kind_of(question)
    assert kind is not None, "what was read has one kind"
    return REQUESTS[kind.field]()


@dataclass(frozen=True, eq=False)
class StoredRequest:
    """A request by the canonical text of a question that was read and built before: it is read again when planned."""

    text: str
    options: PlanningOptions

    def check(self, queries: int) -> None:
        """Raise InvalidValue where the options do not fit the question, which has so many queries."""
        self._class.check(self.options, queries)

    @property
    def digest(self) -> Digest:
        """Names all that the plan depends on, as the request of the question that was read does."""
        return request_digest(Digest.of(self.text.encode()), self.options, self._class.unused)

    def compile(self, progress: ProgressCallback = ignore_progress, interrupted: Interrupted = never) -> FinishedPlan:
        """The plan of the question, which is read here, once."""
        return request_for(parse_either(self._document), self.options).compile(progress, interrupted)

    def with_time_limit(self, seconds: float) -> Self:
        """The same request with at most so many seconds."""
        return replace(self, options=self.options.with_time_limit(seconds))

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.text)
        return document

    @property
    def _class(self) -> type[LinearRequest] | type[PairwiseRequest]:
        return _request_class(self._document)
