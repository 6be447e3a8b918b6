"""Queries are matched by domain, label and row, and the first difference is named."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.comparisons.matching import NotComparable, common_queries

CARRIERS = {"name": "carrier", "kind": "categorical", "labels": ["AA", "UA"]}
DELAYS = {"name": "delay", "kind": "ordinal", "edges": [0, 15], "unit": "min"}


def workload(*domain: Any, queries: Any = "histogram") -> sa.Workload:
    return sa.workload({"name": "x", "domain": list(domain), "queries": queries})


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (workload(CARRIERS | {"name": "airline"}), "attribute 1: it is 'carrier' on the left and 'airline' on"),
        (
            workload(CARRIERS | {"labels": ["AA", "DL"]}),
            "its categories are AA, UA on the left and AA, DL on the right",
        ),
        (workload(CARRIERS | {"other": True}), "attribute 'carrier': its other are False on the left and True"),
        (workload(DELAYS | {"name": "carrier"}), "it is of kind categorical on the left and of kind ordinal on the"),
        (workload(CARRIERS, DELAYS), "only the right one has the attribute 'delay'"),
    ],
)
def test_another_domain_is_refused_with_its_first_difference(other: sa.Workload, said: str) -> None:
    with pytest.raises(NotComparable, match=re.escape(said)):
        common_queries(workload(CARRIERS), other)


def test_queries_of_other_kinds_meet_where_label_and_row_are_the_same() -> None:
    prefix, ranges = sa.prefix([0, 15, 60], name="delay"), sa.ranges([0, 15, 60], name="delay")
    pairs = common_queries(prefix, ranges)
    assert [prefix.label(one) for one, _ in pairs] == prefix.labels()
    assert [ranges.label(other) for _, other in pairs] == prefix.labels()
    rows = prefix.operator.dense()[[one for one, _ in pairs]], ranges.operator.dense()[[other for _, other in pairs]]
    np.testing.assert_array_equal(*rows)


def test_other_rows_under_one_label_are_refused_with_the_first_cell() -> None:
    def matrix(row: list[float]) -> sa.Workload:
        return workload(CARRIERS, queries={"matrix": [[1, 0], row], "labels": ["first", "mine"]})

    assert common_queries(matrix([0.5, 2]), matrix([0.5, 2])) == [(0, 0), (1, 1)]
    with pytest.raises(
        NotComparable, match=r"query 'mine' is another row.*cell.*UA counts 2 on the left and 3 on the r"
    ):
        common_queries(matrix([0.5, 2]), matrix([0.5, 3]))
    assert common_queries(matrix([0.5, 2]), matrix([0.5, 3]), ["first"]) == [(0, 0)]


def test_no_common_query_and_an_unknown_label_are_refused() -> None:
    left, right = sa.prefix([0, 15, 60], name="delay"), sa.histogram(4, name="delay")
    with pytest.raises(NotComparable, match="attribute 'delay': its edges are"):
        common_queries(left, right)
    histogram = workload(DELAYS | {"edges": [0, 15, 60]})
    prefixes = workload(DELAYS | {"edges": [0, 15, 60]}, queries="prefix")
    with pytest.raises(NotComparable, match="the left estimate has no query 'late'; it has 'delay ≤ 0 min'"):
        common_queries(prefixes, prefixes, ["late"])
    with pytest.raises(
        NotComparable, match=r"no query in common: the left one asks 'delay: ≤ 0'.* the right one 'delay ≤"
    ):
        common_queries(histogram, prefixes)
    middle = workload(DELAYS, queries={"matrix": [[1, 0, 2]], "labels": ["a"]})
    with pytest.raises(NotComparable, match="no query in common: the left one asks 'a', the right"):
        common_queries(middle, workload(DELAYS, queries="prefix"))


def test_measures_of_rounded_numbers_are_compared_with_measures_alone() -> None:
    """Rows of one's own under the label of a measure are another question."""
    numbers = {"name": "n", "kind": "integers", "low": 0, "high": 99}
    measures = workload(numbers, queries={"n": "mean"})
    assert measures.dithering is not None
    own = workload(numbers, queries={"matrix": [[1.0] + [0.0] * 99], "labels": ["mean of n"]})
    assert own.label(0) == measures.label(0)
    for sides in ((measures, own), (own, measures)):
        with pytest.raises(NotComparable, match="compare measures with measures"):
            common_queries(*sides)


def test_a_side_that_asks_quantiles_alone_has_no_query_to_compare() -> None:
    few = {"name": "n", "kind": "integers", "low": 0, "high": 4}
    left, right = (
        sa.workload({"name": name, "domain": [few], "queries": queries})
        for name, queries in (("quantiles", {"n": {"quantile": 0.5}}), ("shares", "prefix"))
    )
    with pytest.raises(NotComparable, match="left one asks quantiles and parts of measures alone, the right one 'n"):
        common_queries(left, right)
