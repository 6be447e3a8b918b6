"""What unit an answer has: shares of users, the unit of an attribute, or none."""

import numpy as np
import pytest

from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.questions.linear.units import units_of

WAIT = {"name": "wait", "kind": "ordinal", "unit": "ms", "edges": [500, 1000, 2000]}
BITS = [{"name": f"b{place}", "kind": "categorical", "labels": ["no", "yes"]} for place in range(4)]


def units(domain, queries):
    workload = parse_specification({"name": "asked", "domain": domain, "queries": queries}).build()
    return units_of(workload, range(workload.queries))


@pytest.mark.parametrize("queries", ["histogram", "prefix", "ranges"])
def test_built_in_queries_are_shares(queries):
    assert set(units([WAIT], queries)) == {"share"}


def test_rows_of_a_matrix_are_told_by_their_entries():
    """Bins are up to 500, 1,000, 2,000 and beyond; a mean has a number of each of them."""
    matrix = [[0, 1, 0, 1], [250, 750, 1500, 2500], [250, 750, 1500, 1999], [0, 0.5, 1, 1], [0, 1, 0, -1]]
    assert units([WAIT], {"matrix": matrix}) == ["share", "ms", "", "", ""]


def test_a_mean_of_integers_and_what_has_no_number_has_the_unit_too():
    steps = {"name": "n", "kind": "integers", "low": 3, "high": 6, "unit": "steps", "missing": True}
    assert units([steps], {"matrix": [[3, 4, 5, 6, 0], [3, 4, 5, 7, 0]]}) == ["steps", ""]


def test_parities_are_no_shares_and_marginals_are():
    assert set(units(BITS, {"kind": "marginals", "width": 2})) == {"share"}
    assert set(units(BITS, {"kind": "parities", "width": 2})) == {""}


def test_shares_of_an_operator_are_those_of_its_rows():
    matrix = np.random.default_rng(1).choice([0.0, 1.0, 0.5, -1.0], size=(200, 4), p=[0.5, 0.4, 0.05, 0.05])
    workload = parse_specification({"name": "asked", "domain": [WAIT], "queries": {"matrix": matrix.tolist()}}).build()
    rows = workload.operator.dense()
    assert workload.operator.shares().tolist() == np.isin(rows, (0, 1)).all(axis=1).tolist()
