"""The written form of a workload: what it builds, and what it refuses with which advice."""

import copy
import json

import numpy as np
import pytest

from sordino_analysis.documents.queries import ProductQueries
from sordino_analysis.questions.linear import WorkloadError, builtin, parse_specification

DELAY = {"name": "delay", "kind": "ordinal", "unit": "min", "edges": [0, 15]}
CARRIER = {"name": "carrier", "kind": "categorical", "labels": ["AA", "B6"], "other": True}


def written(queries="prefix", domain=(DELAY,), **more):
    return {"name": "test", "domain": copy.deepcopy(list(domain)), "queries": queries, **more}


def test_prefix_omits_the_certain_query():
    workload = parse_specification(written()).build()
    np.testing.assert_array_equal(workload.operator.dense(), [[1, 0, 0], [1, 1, 0]])
    assert workload.labels() == ["delay ≤ 0 min", "delay ≤ 15 min"]
    assert workload.published == ProductQueries(("prefix",))


def test_prefix_with_missing_keeps_the_last_query_because_it_varies():
    workload = parse_specification(written(domain=[{**DELAY, "missing": True}])).build()
    np.testing.assert_array_equal(workload.operator.dense(), np.tril(np.ones((3, 4))))
    assert workload.label(2) == "delay in any bin"


def test_ranges_name_their_intervals():
    labels = parse_specification(written("ranges")).build().labels()
    assert labels == ["delay ≤ 0 min", "delay ≤ 15 min", "0 < delay ≤ 15 min", "delay > 0 min", "delay > 15 min"]


@pytest.mark.parametrize(("kind", "queries"), [("histogram", 64), ("prefix", 63), ("ranges", 64 * 65 // 2 - 1)])
def test_builtin_kinds_have_the_expected_number_of_queries(kind, queries):
    workload = builtin(kind, 64)
    assert (workload.queries, workload.size, len(workload.varying_rows)) == (queries, 64, queries)


def test_one_kind_for_each_attribute_by_name():
    queries = {"carrier": "total", "delay": "prefix"}
    workload = parse_specification(written(queries, [DELAY, CARRIER])).build()
    assert workload.published == ProductQueries(("prefix", "total"))
    assert workload.labels() == ["delay ≤ 0 min", "delay ≤ 15 min"]
    marginal = workload.operator.matvec(np.full(9, 1 / 9))
    np.testing.assert_allclose(marginal, [1 / 3, 2 / 3])


def test_the_short_form_applies_to_every_attribute():
    workload = parse_specification(written("histogram", [DELAY, CARRIER])).build()
    assert workload.queries == workload.size == 9
    assert workload.label(8) == "delay: > 15, carrier: other"


def test_labels_of_a_product_skip_the_omitted_row():
    two = [DELAY, {**DELAY, "name": "taxi", "unit": ""}]
    workload = parse_specification(written("prefix", two)).build()
    assert workload.queries == 8
    assert workload.labels()[-1] == "delay in any bin, taxi ≤ 15"


def test_a_matrix_may_hold_constant_and_duplicate_rows():
    matrix = [[0.5, 0.5, 0.5], [0, 1, -1], [0, 1, -1]]
    workload = parse_specification(written({"matrix": matrix, "labels": ["a", "b", "c"]})).build()
    assert workload.varying_rows.tolist() == [1, 2]
    assert (workload.queries, workload.label(2)) == (3, "c")
    assert parse_specification(written({"matrix": matrix})).build().label(2) == "query 3"


def test_a_row_that_is_constant_up_to_rounding_does_not_vary():
    matrix = [[0.3, 0.1 + 0.2, 0.3], [1e-20, 0.0, 0.0], [1e20, 1e20, 1e20]]
    assert parse_specification(written({"matrix": matrix})).build().varying_rows.tolist() == [1]


@pytest.mark.parametrize(
    "document",
    [
        written(),
        written({"delay": "ranges", "carrier": "histogram"}, [{**DELAY, "edges": [-1.5, 1e-9, 3e7]}, CARRIER]),
        written({"matrix": [[0.1, 1 / 3, -2], [1, 2, 3]], "labels": ["x", "y"]}),
    ],
)
def test_the_specification_stored_rebuilds_the_same_workload(document):
    written = parse_specification(document)
    read = parse_specification(json.loads(json.dumps(written.canonical())))
    assert read.canonical() == written.canonical()
    workload, again = written.build(), read.build()
    assert again.digest == workload.digest
    assert (again.domain, again.labels()) == (workload.domain, workload.labels())
    np.testing.assert_array_equal(again.operator.dense(), workload.operator.dense())


@pytest.mark.parametrize(
    ("document", "advice"),
    [
        (written("cdf"), "'histogram', 'prefix', 'ranges' or 'total'"),
        (written({"delay": "cdf"}), "queries"),
        (written({"speed": "prefix"}), "each of the attributes"),
        (written("prefix", [CARRIER]), "make it ordinal"),
        (written("total"), "same answer whatever"),
        (written(colour="red"), "colour"),
        (written(domain=[]), "at least one attribute"),
        (written(domain=[{**DELAY, "edges": []}]), "one member"),
        (written(domain=[{**DELAY, "edges": [3, 1]}]), "increasing"),
        (written(domain=[{**DELAY, "edges": [1, float("nan")]}]), "finite"),
        (written(domain=[DELAY, DELAY]), "distinct"),
        (written(domain=[{**DELAY, "kind": "nominal"}]), "domain.0"),
        (written("ranges", [{**DELAY, "edges": list(range(70000))}]), "at most 65536 bins"),
        (written({"matrix": []}), "empty"),
        (written({"matrix": [[]]}), "empty"),
        (written({"matrix": [[1, 2, 3], [1, 2]]}), "every row needs one entry"),
        (written({"matrix": [[1, 2]]}), "each of the 3 cells"),
        (written({"matrix": [[1, 2, float("inf")]]}), "finite"),
        (written({"matrix": [[1, 2, "3"]]}), "number"),
        (written({"matrix": [[1, 1, 1]]}), "same answer whatever"),
        (written({"matrix": [[1, 2, 1e200]]}), "scale the queries"),
        (written({"matrix": [[0, 0, 1e-200]]}), "scale the queries"),
        (written({"matrix": [[1, 2, 3]], "labels": ["a", "b"]}), "2 labels for 1"),
        (written({"matrix": [[1, 2, 3]], "labels": ["a\x00b"]}), "legible"),
        (written({"file": "secret.csv"}), "put the matrix here"),
        (written(None), "queries"),
        ([], "workload"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_advice(document, advice):
    with pytest.raises(WorkloadError, match=advice):
        parse_specification(document).build()


@pytest.mark.parametrize(("kind", "size"), [("prefix", 1), ("prefix", 0), ("prefix", -3), ("prefix", 2.5), ("cdf", 8)])
def test_builtin_refuses_what_has_no_meaning(kind, size):
    with pytest.raises(WorkloadError):
        builtin(kind, size)


def test_more_queries_than_indices_are_refused():
    many = [{**DELAY, "name": f"a{i}", "edges": list(range(255))} for i in range(7)]
    with pytest.raises(WorkloadError, match="2\\^62 queries"):
        parse_specification(written("ranges", many)).build()


@pytest.mark.parametrize("query", [-1, 2])
def test_a_query_that_is_not_there_has_no_label(query):
    with pytest.raises(WorkloadError, match="0 to 1"):
        parse_specification(written()).build().label(query)


def test_truth_is_the_answer_for_the_users_given():
    cells = np.array([0, 0, 1, 2])
    np.testing.assert_allclose(parse_specification(written()).build().truth(cells), [0.5, 0.75])


@pytest.mark.parametrize("kind", ["text", "prefix"])
def test_texts_and_their_prefixes_have_no_linear_queries(kind):
    attribute = {"name": "load", "kind": kind, "low": 0, "high": 1}
    with pytest.raises(WorkloadError, match=r"an attribute of kind text|prefixes of a text"):
        parse_specification(written(domain=(attribute,)))
