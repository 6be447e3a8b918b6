"""Counting rows: every value in its bin, exact marginals, and refusals that say nothing of any row."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

from sordino_analysis.curator.counts import check_countable, count_rows, marginal_counts
from sordino_shared.domains import Categorical, Domain, Hashed, Integers, Ordinal
from sordino_shared.errors import InvalidValue

DELAY, PORT = Ordinal("delay", (0.0, 15.0)), Categorical("port", ("a", "b"), missing=True)
DOMAIN = Domain((DELAY, PORT))
ROWS: dict[str, list[object]] = {"delay": [-1, 15, 15.5, 90, 0], "port": ["a", "b", None, "b", "a"]}


def test_rows_are_counted_in_the_order_of_the_cells() -> None:
    counts = count_rows(DOMAIN, ROWS, 5)
    assert counts.reshape(3, 3).tolist() == [[2, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert counts.dtype == np.int64


def test_marginals_add_cells_up_and_follow_the_order_of_the_workload() -> None:
    counts = count_rows(DOMAIN, ROWS, 5)
    assert marginal_counts(DOMAIN, counts, Domain((PORT,))).tolist() == [2, 2, 1]
    swapped = marginal_counts(DOMAIN, counts, Domain((PORT, DELAY)))
    assert swapped.reshape(3, 3).tolist() == counts.reshape(3, 3).T.tolist()
    assert marginal_counts(DOMAIN, counts, DOMAIN).tolist() == counts.tolist()
    for other in (Ordinal("delay", (0.0, 16.0)), Categorical("gate", ("a", "b"))):
        with pytest.raises(InvalidValue, match=f"attribute '{other.name}'"):
            marginal_counts(DOMAIN, counts, Domain((other,)))


def test_unlisted_values_are_other_where_the_attribute_has_it() -> None:
    domain = Domain((Categorical("port", ("a",), other=True), Integers("age", 0, 3, other=True)))
    counts = count_rows(domain, {"port": ["a", "z", None], "age": [3, 4, None]}, 9)
    assert counts.reshape(2, 5).tolist() == [[0, 0, 0, 1, 0], [0, 0, 0, 0, 2]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"delay": [-1, 15, 15.5, "7654321", 0]}, "does not list"),
        ({"delay": [-1, 15, 15.5, None, 0]}, "does not list"),
        ({"delay": [-1, 15, 15.5, float("nan"), 0]}, "finite"),
        ({"delay": [-1, 15, 15.5, float("inf"), 0]}, "finite"),
        ({"delay": [-1, 15, 15.5, True, 0]}, "does not list"),
        ({"delay": [-1, 15, 15.5, [7654321], 0]}, "finite"),
        ({"port": ["a", "b", None, "secret7654321", "a"]}, "does not list"),
        ({"port": ["a", "b", None, "b"]}, "different lengths"),
        ({"gate": [1] * 5}, "must be those of the domain"),
        ({"port": [], "delay": []}, "from 1 to 5 rows"),
        ({"port": ["a"] * 6, "delay": [1] * 6}, "from 1 to 5 rows"),
    ],
)
def test_a_refusal_has_advice_and_no_value_or_row(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=said) as refused:
        count_rows(DOMAIN, {**ROWS, **change}, 5)
    everything = "".join(traceback.format_exception(refused.value)) + repr(refused.value.value)
    assert "7654321" not in everything
    assert "row 3" not in everything


def test_whole_numbers_are_not_rounded() -> None:
    with pytest.raises(InvalidValue, match="does not list"):
        count_rows(Domain((Integers("age", 0, 9),)), {"age": [2.5]}, 5)


def test_domains_without_a_count_of_each_cell_are_refused() -> None:
    check_countable(Domain((Integers("age", 1, 2**20),)))
    for domain in (Domain((Integers("age", 0, 2**20),)), Domain((Hashed("word", 8),))):
        with pytest.raises(InvalidValue, match="data set"):
            check_countable(domain)
