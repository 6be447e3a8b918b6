"""A workload survives being published."""

import pickle

import numpy as np
import pytest

from sordino_analysis.documents.queries import MatrixQueries, ProductQueries
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_analysis.questions.linear.building import build_workload
from sordino_shared.errors import InvalidValue

PRODUCT = {
    "name": "product",
    "domain": [
        {"name": "age", "kind": "ordinal", "edges": [1.0, 2.0, 3.0], "unit": "years", "missing": True},
        {"name": "colour", "kind": "categorical", "labels": ["red", "blue"], "other": True},
    ],
    "queries": {"age": "ranges", "colour": "histogram"},
}
MATRIX = PRODUCT | {
    "queries": {"matrix": [[1.0] * 15, list(map(float, range(15)))], "labels": ["all", "sum"]},
}


@pytest.mark.parametrize("document", [PRODUCT, MATRIX], ids=["product", "matrix"])
def test_the_rebuilt_workload_is_the_same_and_so_is_the_pickled_one(document):
    workload = parse_specification(document).build()
    rebuilt = build_workload(workload.domain, workload.published, workload.name)
    again = pickle.loads(pickle.dumps(workload))
    for other in (rebuilt, again):
        assert (other.name, other.domain, other.labels()) == (workload.name, workload.domain, workload.labels())
        assert other.digest == workload.digest
        np.testing.assert_array_equal(other.operator.dense(), workload.operator.dense())
        np.testing.assert_array_equal(other.varying_rows, workload.varying_rows)


def test_structured_queries_take_no_bytes_and_a_matrix_takes_its_entries():
    assert builtin("ranges", 4).published == ProductQueries(("ranges",))
    published = parse_specification(MATRIX).build().published
    assert isinstance(published, MatrixQueries)
    assert published.labels == ("all", "sum")


def test_queries_of_another_domain_are_refused():
    domain = builtin("prefix", 4).domain
    with pytest.raises(InvalidValue, match="2 kinds of queries for 1 attributes"):
        build_workload(domain, ProductQueries(("prefix", "total")))
    with pytest.raises(InvalidValue, match="unknown kind"):
        build_workload(domain, ProductQueries(("median",)))
    with pytest.raises(InvalidValue, match="columns"):
        build_workload(domain, parse_specification(MATRIX).build().published)
