"""What a query is about, as values, holds for exactly the values that its row of the matrix counts."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from sordino_analysis.evaluation.grids.answers import listed_on_a_line
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.questions.linear.scopes import bounds_of
from sordino_analysis.vectorized.domains import encode_many

DELAY = {"name": "delay", "kind": "ordinal", "edges": [0, 15, 60], "unit": "min", "missing": True}
DELAYS = [-3.0, 15.0, 15.5, 61.0, None]
STEPS = {"name": "steps", "kind": "integers", "low": -1, "high": 2}
NUMBERS = [-1, 0, 1, 2]
CITY = {"name": "city", "kind": "categorical", "labels": ["Rome", "Oslo"], "other": True}
CITIES = ["Rome", "Oslo", "Bern"]
FLAG = {"name": "flag", "kind": "categorical", "labels": ["yes", "no"]}
VALUES = {"delay": DELAYS, "steps": NUMBERS, "city": CITIES, "flag": ["yes", "no"]}
TRAILING = {"delay": "missing", "city": "other"}
QUERIES: list[tuple[list[dict[str, Any]], Any]] = [
    ([DELAY], "prefix"),
    ([DELAY], "ranges"),
    ([DELAY], "histogram"),
    ([STEPS], "prefix"),
    ([STEPS], "ranges"),
    ([CITY], "histogram"),
    ([DELAY, STEPS, CITY], {"delay": "prefix", "steps": "ranges", "city": "total"}),
    ([STEPS, CITY], {"steps": "total", "city": "histogram"}),
    ([STEPS, CITY, FLAG, DELAY], {"kind": "marginals", "width": 2}),
]


def _workload(domain: list[dict[str, Any]], queries: Any) -> Workload:
    return parse_specification({"name": "w", "domain": domain, "queries": queries}).build()


def _counts(attribute: dict[str, Any], bounds: Any, value: Any) -> bool:
    """Whether the bounds hold for a value, as the docstring of AttributeBounds says."""
    listed = value is not None if attribute["kind"] != "categorical" else value in attribute["labels"]
    if bounds.label == "any number":
        return listed
    if bounds.label is not None:
        return bounds.label == (value if listed else TRAILING[attribute["name"]])
    if not listed:
        return False
    strict = attribute["kind"] == "ordinal"
    above = bounds.low is None or (bounds.low < value if strict else bounds.low <= value)
    return above and (bounds.high is None or value <= bounds.high)


@pytest.mark.parametrize(("domain", "queries"), QUERIES)
def test_bounds_hold_for_exactly_what_the_query_counts(domain: list[dict[str, Any]], queries: Any) -> None:
    workload = _workload(domain, queries)
    cells = list(product(*(VALUES[attribute["name"]] for attribute in domain)))
    columns = encode_many(
        workload.domain, [dict(zip([a["name"] for a in domain], cell, strict=True)) for cell in cells]
    )
    rows = workload.operator.take(np.arange(workload.queries))[:, columns]
    for query in range(workload.queries):
        scope = workload.scope(query)
        assert scope.sides is not None
        bounds = {each.attribute: each for each in bounds_of(workload.domain, scope.sides)}
        counted = [
            all(
                attribute["name"] not in bounds or _counts(attribute, bounds[attribute["name"]], value)
                for attribute, value in zip(domain, cell, strict=True)
            )
            for cell in cells
        ]
        assert counted == rows[query].astype(bool).tolist(), workload.label(query)


def test_kinds_are_those_of_the_question() -> None:
    assert _workload([DELAY, STEPS], {"delay": "prefix", "steps": "total"}).scope(0).kind == "prefix"
    assert _workload([DELAY, STEPS], {"delay": "prefix", "steps": "ranges"}).scope(0).kind == "prefix×ranges"
    parity = _workload([FLAG, {**FLAG, "name": "other flag"}], {"kind": "parities", "width": 2}).scope(0)
    assert (parity.kind, parity.sides) == ("parity", None)
    stack = _workload([STEPS], {"stack": [{"queries": "prefix"}, {"queries": "histogram"}]})
    assert [stack.scope(query).kind for query in range(stack.queries)] == ["prefix"] * 3 + ["histogram"] * 4
    assert stack.scope(4).sides == ((1, 1),)


def test_rows_of_a_matrix_have_bounds_where_they_count_a_box() -> None:
    rows = [[0, 1, 1, 0, 0], [0, 0, 0, 0, 1], [1, 0, 1, 0, 0], [0, 0.5, 0, 0, 0], [0, 0, 0, 1, 1], [1, 1, 1, 1, 0]]
    workload = _workload([DELAY], {"matrix": rows, "labels": [str(row) for row in rows]})
    found = [bounds_of(workload.domain, workload.scope(query).sides) for query in range(len(rows))]
    assert [(b.low, b.high, b.unit) for b in found[0]] == [(0.0, 60.0, "min")]
    assert [b.label for b in found[1]] == ["missing"]
    assert found[2:5] == [(), (), ()]
    assert [b.label for b in found[5]] == ["any number"]
    two = _workload([FLAG, CITY], {"matrix": [[1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 1, 0]], "labels": ["Rome", "none"]})
    assert [(b.attribute, b.label) for b in bounds_of(two.domain, two.scope(0).sides)] == [("city", "Rome")]
    assert two.scope(1).sides is None


def test_listed_intervals_of_many_keep_their_bounds() -> None:
    workload = _workload([{**STEPS, "high": 100_000}], "prefix")
    listed = listed_on_a_line(workload)
    assert listed.queries < workload.queries
    for query in (0, listed.queries // 2, listed.queries - 1):
        (bounds,) = bounds_of(listed.domain, listed.scope(query).sides)
        assert listed.label(query) == f"steps ≤ {bounds.high}"
        assert bounds.low == -1
