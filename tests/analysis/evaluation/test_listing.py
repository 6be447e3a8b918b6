"""Which queries an estimate lists where they are too many, and that it does not depend on the answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sordino_analysis.evaluation.listing import MOST_PUBLISHED_QUERIES, published_queries
from sordino_analysis.questions.linear import Workload, parse_specification

SWITCHES = [{"name": f"a{number}", "kind": "categorical", "labels": ["no", "yes"]} for number in range(64)]
BINS = {"name": "x", "kind": "integers", "low": 0}


def _workload(domain: list[dict[str, Any]], queries: object) -> Workload:
    return parse_specification({"name": "w", "domain": domain, "queries": queries}).build()


@pytest.mark.parametrize("bins", [10, 361])
def test_up_to_two_to_the_sixteenth_queries_are_all_listed(bins: int) -> None:
    workload = _workload([BINS | {"high": bins - 1}], "ranges")
    assert workload.queries <= MOST_PUBLISHED_QUERIES
    assert published_queries(workload).tolist() == list(range(workload.queries))


def test_of_more_ranges_some_are_listed_spread_over_all() -> None:
    workload = _workload([BINS | {"high": 399}], "ranges")
    numbers = published_queries(workload)
    assert (len(numbers), numbers[0], numbers[-1]) == (8192, 0, workload.queries - 1)
    # 79,799 queries are 9.7 listed ones apart.
    assert set(np.diff(numbers).tolist()) == {9, 10}


def test_of_more_marginals_those_of_the_fewest_attributes_are_listed() -> None:
    workload = _workload(SWITCHES, {"kind": "marginals", "width": 3})
    numbers = published_queries(workload)
    assert workload.queries == 128 + 8064 + 333_312
    assert len(numbers) == 128 + 8064
    sides = [workload.scope(query).sides or () for query in (*numbers[[0, 127, 128, -1]].tolist(), 8192)]
    assert [sum(side != (0, 1) for side in each) for each in sides] == [1, 1, 2, 2, 3]
