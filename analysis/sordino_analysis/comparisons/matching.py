"""Which queries two workloads have in common: the same domain, the same label and the same row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

import numpy as np

from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.numbers.building import rows_of_all_users
from sordino_analysis.questions.linear.numbers.measures import Measures
from sordino_analysis.questions.linear.operators import TooLargeForDense
from sordino_shared.domains import Attribute, Domain
from sordino_shared.errors import InvalidValue

Pairs = list[tuple[int, int]]

# Entries of rows that are compared at once: 32 MiB of doubles.
_BLOCK_ENTRIES = 1 << 22
# What rounding leaves between entries that are the same.
_SAME = 1e-12
# Letters of a value, and labels, that a message shows.
_SHOWN, _LABELS = 60, 3


class NotComparable(InvalidValue):
    """Two estimates cannot be compared; the message has the first difference between what they ask."""

    code = "not-comparable"
    advice = "compare estimates of campaigns that ask the same of the same domain"


def common_queries(left: Workload, right: Workload, only: Sequence[str] | None = None) -> Pairs:
    """(left, right) numbers of the queries that both ask, in the order of the left one; `only` with these labels.

    Raises NotComparable for another domain, for a label whose rows differ, for one that a side does not ask, and where
    the workloads have no query in common.
    """
    check_same_domain(left.held_domain, right.held_domain)
    places = [queries_by_label(workload) for workload in (left, right)]
    chosen = common_labels(places, only)
    pairs = [(places[0][label], places[1][label]) for label in chosen]
    rounded = left.dithering is not None or right.dithering is not None
    if rounded and not (left.has_units and right.has_units):
        raise NotComparable(
            "one side asks measures of numbers, which devices round, and the other rows of its own: compare measures "
            "with measures",
            (left.name, right.name),
        )
    # Measures with the same label are the same, even if the two plans round numbers to different levels.
    if left.published != right.published and not rounded:
        _check_rows(left, right, pairs)
    return pairs


def common_labels(places: Sequence[Mapping[str, object]], only: Sequence[str] | None = None) -> list[str]:
    """The labels that both sides have, in the order of the left one, or `only` these.

    Raises NotComparable for one of `only` that a side does not have, and where there is none in common.
    """
    if only is not None:
        _check_labels(only, places)
    chosen = [label for label in places[0] if label in places[1]] if only is None else list(dict.fromkeys(only))
    if not chosen:
        asked = [_some(place) for place in places]
        raise NotComparable(
            f"the estimates have no query in common: the left one asks {asked[0]}, the right one {asked[1]}", asked
        )
    return chosen


def check_same_domain(left: Domain, right: Domain) -> None:
    """Raise NotComparable with the first difference of two domains."""
    for place, (one, other) in enumerate(zip(left.attributes, right.attributes, strict=False)):
        if one != other:
            raise NotComparable(f"the domains differ in {_difference(place, one, other)}", (one.name, other.name))
    if len(left.attributes) != len(right.attributes):
        longer, side = (left, "left") if len(left.attributes) > len(right.attributes) else (right, "right")
        further = longer.attributes[min(len(left.attributes), len(right.attributes))].name
        raise NotComparable(f"the domains differ: only the {side} one has the attribute {further!r}", further)


def _difference(place: int, one: Attribute, other: Attribute) -> str:
    if one.name != other.name:
        return f"attribute {place + 1}: it is {one.name!r} on the left and {other.name!r} on the right"
    if type(one) is not type(other):
        return f"attribute {one.name!r}: it is of kind {one.kind} on the left and of kind {other.kind} on the right"
    name = next(each.name for each in fields(one) if getattr(one, each.name) != getattr(other, each.name))
    values = [_short(getattr(each, name)) for each in (one, other)]
    return f"attribute {one.name!r}: its {name} are {values[0]} on the left and {values[1]} on the right"


def queries_by_label(workload: Workload) -> dict[str, int]:
    """The number of each label; of a label that stands twice, the first. Of numbers, the measures of all users."""
    found: dict[str, int] = {}
    published = workload.published
    if isinstance(published, NumberQueries):
        every: Iterable[int] = rows_of_all_users(workload.held_domain, published)
    else:
        every = range(workload.queries)
    for query in every:
        found.setdefault(workload.label(query), query)
    return found


def measures_left_out(workload: Workload) -> int:
    """How many measures of numbers are left out, since they are not queries of their own."""
    if not isinstance(workload.published, NumberQueries):
        return 0
    queries = queries_by_label(workload)
    return sum(each.label not in queries for each in Measures(workload.held_domain, workload.published).shown)


def _check_labels(only: Sequence[str], places: Sequence[Mapping[str, object]]) -> None:
    for side, held in zip(("left", "right"), places, strict=True):
        if unknown := [label for label in only if label not in held]:
            raise NotComparable(f"the {side} estimate has no query {unknown[0]!r}; it has {_some(held)}", unknown[0])


def _check_rows(left: Workload, right: Workload, pairs: Pairs) -> None:
    step = max(1, _BLOCK_ENTRIES // left.size)
    for start in range(0, len(pairs), step):
        ours, theirs = np.array(pairs[start : start + step], dtype=np.intp).T
        try:
            rows = left.operator.take(ours), right.operator.take(theirs)
        except TooLargeForDense as error:
            raise NotComparable(f"rows over {left.size} cells are too long to be compared one by one") from error
        apart = np.abs(rows[0] - rows[1]) > _SAME
        if apart.any():
            place, cell = np.argwhere(apart)[0].tolist()
            codes = [int(code) for code in np.unravel_index(cell, left.domain.shape)]
            raise NotComparable(
                f"query {left.label(int(ours[place]))!r} is another row on either side: the cell "
                f"{left.domain.describe(codes)} counts {rows[0][place, cell]:g} on the left and "
                f"{rows[1][place, cell]:g} on the right",
                left.label(int(ours[place])),
            )


def _some(labels: Mapping[str, object]) -> str:
    shown = ", ".join(repr(label) for label in list(labels)[:_LABELS])
    return (f"{shown}, …" if len(labels) > _LABELS else shown) or "quantiles and parts of measures alone"


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
