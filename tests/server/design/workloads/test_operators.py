"""Structured operators against matrices written out by definition."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino_server.design.workloads import TooLargeForDense, parse_specification
from sordino_server.design.workloads.operators import Dense, Identity, Kronecker, Prefix, Ranges, Total


@st.composite
def attributes(draw, index):
    missing, other = draw(st.booleans()), draw(st.booleans())
    if draw(st.booleans()):
        edges = [float(edge) for edge in range(draw(st.integers(1, 4)))]
        kind = draw(st.sampled_from(["histogram", "prefix", "ranges", "total"]))
        written = {"name": f"a{index}", "kind": "ordinal", "edges": edges}
    else:
        kind = draw(st.sampled_from(["histogram", "total"]))
        written = {"name": f"a{index}", "kind": "categorical", "labels": list("xyz"[: draw(st.integers(2, 3))])}
    return {**written, "missing": missing, "other": other}, kind


@st.composite
def products(draw):
    drawn = [draw(attributes(index)) for index in range(draw(st.integers(1, 3)))]
    if all(kind == "total" for _, kind in drawn):
        drawn[0] = (drawn[0][0], "histogram")
    return [written for written, _ in drawn], [kind for _, kind in drawn]


def by_definition(written, kind):
    """The queries of one attribute as explicit rows, straight from what the kinds mean."""
    bins = len(written["edges"]) + 1 if written["kind"] == "ordinal" else len(written["labels"])
    size = bins + written["missing"] + written["other"]
    if kind == "histogram":
        return np.eye(size)
    if kind == "total":
        return np.ones((1, size))
    intervals = (
        [(0, last) for last in range(bins)]
        if kind == "prefix"
        else [(first, last) for first in range(bins) for last in range(first, bins)]
    )
    return np.array([[float(first <= x <= last) for x in range(size)] for first, last in intervals])


@settings(max_examples=60, deadline=None)
@given(products(), st.integers(0, 2**32 - 1))
def test_a_product_workload_is_the_kronecker_product_of_its_factors_without_constant_rows(product, seed):
    domain, kinds = product
    queries = {written["name"]: kind for written, kind in zip(domain, kinds, strict=True)}
    workload = parse_specification({"name": "w", "domain": domain, "queries": queries}).build()
    expected = reduce(np.kron, [by_definition(w, kind) for w, kind in zip(domain, kinds, strict=True)])
    expected = expected[(expected != expected[:, :1]).any(axis=1)]
    operator, rng = workload.operator, np.random.default_rng(seed)
    np.testing.assert_array_equal(operator.dense(), expected)
    assert operator.shape == expected.shape == (workload.queries, workload.size)
    for trailing in ((), (3,)):
        h, q = rng.normal(size=(workload.size, *trailing)), rng.normal(size=(workload.queries, *trailing))
        np.testing.assert_allclose(operator.matvec(h), expected @ h, atol=1e-12)
        np.testing.assert_allclose(operator.rmatvec(q), expected.T @ q, atol=1e-12)
    cell = int(rng.integers(workload.size))
    np.testing.assert_allclose(operator.column(cell), expected[:, cell], atol=1e-12)
    np.testing.assert_array_equal(operator.rows(1, 4), expected[1:4])


def test_a_matrix_multiplies_like_itself():
    matrix = np.random.default_rng(0).normal(size=(4, 6))
    operator, vector = Dense(matrix), np.arange(6.0)
    np.testing.assert_allclose(operator.matvec(vector), matrix @ vector)
    np.testing.assert_allclose(operator.rmatvec(np.arange(4.0)), matrix.T @ np.arange(4.0))
    np.testing.assert_allclose(operator.column(2), matrix[:, 2])
    np.testing.assert_array_equal(operator.dense(), matrix)


def test_a_large_operator_works_and_refuses_to_be_dense():
    operator = Kronecker([Prefix(1000, 1000), Identity(50), Prefix(100, 101)])
    assert operator.shape == (5_000_000, 5_050_000)
    first = operator.column(0)
    assert first.sum() == 1000 * 100
    with pytest.raises(TooLargeForDense, match="matvec") as refused:
        operator.dense()
    assert refused.value.value is operator
    np.testing.assert_array_equal(operator.rows(0, 2)[:, :3], [[1, 0, 0], [1, 1, 0]])


@pytest.mark.parametrize("operator", [Prefix(4, 4), Ranges(4, 4), Total(4), Identity(1)])
def test_the_constant_row_is_the_one_announced(operator):
    dense = operator.dense()
    assert [q for q, row in enumerate(dense) if np.ptp(row) == 0] == [operator.constant_row]


@pytest.mark.parametrize("operator", [Prefix(4, 5), Ranges(4, 6), Identity(3)])
def test_no_constant_row_is_announced_where_there_is_none(operator):
    assert operator.constant_row is None
    assert (np.ptp(operator.dense(), axis=1) > 0).all()


def test_members_outside_every_range_get_exactly_nothing():
    weights = np.random.default_rng(0).normal(size=Ranges(30, 32).shape[0])
    assert Ranges(30, 32).rmatvec(weights)[30:].tolist() == [0.0, 0.0]
