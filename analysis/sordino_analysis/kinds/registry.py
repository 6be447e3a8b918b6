"""The kinds of questions and of answers, and which of them a workload, a document or a campaign is of.

Another distribution adds a kind by an entry point of the group `sordino.kinds` that names an instance of
`KindOfQuestion`: every process that reads kinds then knows it. `register` adds one to this process alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from sordino_analysis.kinds.arms import ArmsKind
from sordino_analysis.kinds.base import KindOfAnswers, KindOfQuestion
from sordino_analysis.kinds.concepts import ConceptsKind
from sordino_analysis.kinds.linear import LinearKind
from sordino_analysis.kinds.numbers import NumbersKind
from sordino_analysis.kinds.on_demand import OnDemandKind
from sordino_analysis.kinds.pairwise import PairwiseKind
from sordino_analysis.kinds.release import ReleaseKind
from sordino_analysis.kinds.series import SeriesKind
from sordino_analysis.kinds.string_series import StringSeriesKind
from sordino_analysis.kinds.strings import StringsKind
from sordino_analysis.kinds.two_campaigns import ComparisonKind
from sordino_shared.errors import InvalidValue

GROUP = "sordino.kinds"
_KINDS: dict[str, KindOfQuestion] = {
    kind.name: kind for kind in (LinearKind(), ConceptsKind(), NumbersKind(), PairwiseKind(), StringsKind())
}
# Answers that follow from no question of a campaign's own.
_FURTHER: dict[str, KindOfAnswers] = {
    kind.name: kind
    for kind in (OnDemandKind(), SeriesKind(), StringSeriesKind(), ReleaseKind(), ComparisonKind(), ArmsKind())
}


class UnknownKind(InvalidValue):
    """Something is of a kind of question or of answers that is not installed here."""

    code = "unknown-kind"
    advice = "upgrade, or install the distribution that adds this kind"

    def __init__(self, name: object, kinds: Iterable[str]) -> None:
        known = ", ".join(kinds)
        super().__init__(
            f"there is no kind of question {str(name)[:100]!r}; there are {known}: upgrade, or install what adds it",
            name,
        )


def kinds() -> Mapping[str, KindOfQuestion]:
    """Every kind by its name: those of this distribution first."""
    for kind in outside_kinds():
        if isinstance(kind, KindOfQuestion) and kind.name not in _KINDS:
            register(kind)
    return _KINDS


def register(kind: KindOfQuestion) -> None:
    """Add a kind to this process; raises InvalidValue where another one has its name."""
    if kind.name in _FURTHER or _KINDS.setdefault(kind.name, kind) is not kind:
        raise InvalidValue(f"there are two kinds of questions {kind.name!r}: rename one", kind.name)


def kind_named(name: object) -> KindOfQuestion:
    """The kind of this name; raises UnknownKind."""
    kind = (_KINDS.get(name) or kinds().get(name)) if isinstance(name, str) else None
    if kind is None:
        raise UnknownKind(name, kinds())
    return kind


def kinds_of_answers() -> Mapping[str, KindOfAnswers]:
    """Every kind that a document of answers may be of, by its name: those of questions first."""
    return {**kinds(), **_FURTHER}


def kind_of_answers(name: object) -> KindOfAnswers:
    """The kind of documents of this name; raises UnknownKind."""
    known = kinds_of_answers()
    if not isinstance(name, str) or name not in known:
        raise UnknownKind(name, known)
    return known[name]


def kind_of(document: Mapping[str, Any]) -> KindOfQuestion | None:
    """The kind of a workload as it is written; None where it has the field of no kind, or of several."""
    given = [kind for kind in kinds().values() if kind.field in document]
    if len({kind.field for kind in given}) != 1:
        return None
    return next((kind for kind in given if kind.recognises(document)), None)


@cache
def outside_kinds() -> tuple[object, ...]:
    """What the entry points name, each module imported once; raises what such an import raises."""
    return tuple(point.load() for point in entry_points(group=GROUP))
