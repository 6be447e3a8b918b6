"""Structured operators against matrices written out by definition."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino_analysis.documents.analyst_part import ErrorFigures
from sordino_analysis.documents.decoders import ScaledHistogramDecoder
from sordino_analysis.documents.queries import MatrixQueries
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.questions.linear import TooLargeForDense, Workload, parse_specification
from sordino_analysis.questions.linear.boxes import Box, Boxes
from sordino_analysis.questions.linear.composed_maps import Kronecker, WithoutRow
from sordino_analysis.questions.linear.items import _ManyItems
from sordino_analysis.questions.linear.numbers.building import ScaledRows
from sordino_analysis.questions.linear.operators import (
    Dense,
    Identity,
    Intervals,
    LinearMap,
    OneAttribute,
    Prefix,
    Ranges,
    Total,
    ZeroOneMap,
)
from sordino_analysis.questions.linear.scopes import QueryScope
from sordino_analysis.questions.linear.stacks import Stack
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.domains import Categorical, Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import RandomizedResponse


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


@st.composite
def dense_maps(draw, size):
    rows = draw(st.integers(1, 3))
    values = st.sampled_from([-2.5, -1.0, 0.0, 1.0, 3.0])
    drawn = draw(st.lists(st.lists(values, min_size=size, max_size=size), min_size=rows, max_size=rows))
    return draw(st.sampled_from([Dense, ScaledRows]))(np.array(drawn))


@st.composite
def interval_maps(draw, size):
    ends = st.lists(st.integers(0, size), min_size=2, max_size=2, unique=True).map(sorted)
    starts, stops = np.array(draw(st.lists(ends, min_size=1, max_size=4))).T
    return Intervals(starts, stops, size)


@st.composite
def box_maps(draw, size):
    ends = st.lists(st.integers(0, size - 1), min_size=2, max_size=2).map(lambda pair: tuple(sorted(pair)))
    return Boxes([Box(label="box", sides=(each,)) for each in draw(st.lists(ends, min_size=1, max_size=4))], (size,))


def plain_maps(size):
    """Maps over `size` types that are of one part."""
    bins = st.integers(1, size)
    counted = [bins.map(lambda n: Prefix(n, size)), bins.map(lambda n: Ranges(n, size))]
    return st.one_of(
        st.just(Identity(size)), st.just(Total(size)), dense_maps(size), interval_maps(size), box_maps(size), *counted
    )


@st.composite
def width_maps(draw):
    asked = draw(st.sampled_from(["parities", "marginals"]))
    sizes = [2, 2, 2] if asked == "parities" else draw(st.lists(st.integers(2, 3), min_size=2, max_size=3))
    domain = [{"name": f"a{i}", "kind": "categorical", "labels": list("xyz"[:size])} for i, size in enumerate(sizes)]
    queries = {"kind": asked, "width": draw(st.integers(1, len(sizes)))}
    return parse_specification({"name": "w", "domain": domain, "queries": queries}).build().operator


@st.composite
def any_map(draw):
    """A map of any kind: plain ones, parities and marginals, products, stacks, and those without a row."""
    kind = draw(st.sampled_from(["plain", "widths", "product", "stack", "without"]))
    size = draw(st.integers(1, 4))
    if kind == "plain":
        return draw(plain_maps(size))
    if kind == "widths":
        return draw(width_maps())
    if kind == "product":
        return Kronecker(draw(st.lists(st.integers(1, 3).flatmap(plain_maps), min_size=1, max_size=3)))
    parts = draw(st.lists(plain_maps(size), min_size=2, max_size=3))
    stack = Stack(parts, [1.0] * len(parts))
    return stack if kind == "stack" else WithoutRow(stack, draw(st.integers(0, stack.shape[0] - 1)))


@settings(max_examples=300, deadline=None)
@given(any_map(), st.integers(0, 2**32 - 1))
def test_every_operator_is_its_dense_matrix(operator, seed):
    dense, rng = operator.dense(), np.random.default_rng(seed)
    assert dense.shape == operator.shape
    queries, size = operator.shape
    h, q = rng.normal(size=size), rng.normal(size=queries)
    np.testing.assert_allclose(operator.matvec(h), dense @ h, atol=1e-11)
    np.testing.assert_allclose(operator.squared_matvec(h), dense**2 @ h, atol=1e-11)
    np.testing.assert_allclose(operator.rmatvec(q), dense.T @ q, atol=1e-11)
    np.testing.assert_allclose(operator.column(size - 1), dense[:, -1], atol=1e-11)
    assert operator.zero_one <= bool(np.isin(dense, (0.0, 1.0)).all())
    low, high = operator.entry_range()
    assert (low <= dense.min(axis=1)).all()
    assert (high >= dense.max(axis=1)).all()
    varying = np.flatnonzero(np.ptp(dense, axis=1) > 1e-9)
    assert np.isin(varying, operator.varying()).all()


def test_no_share_of_users_is_above_1():
    """Sums of rounded shares are: intervals that end at 1 were said to miss them."""
    counts = np.random.default_rng(6).multinomial(5000, np.full(64, 1 / 64))
    assert np.cumsum(counts / 5000).max() > 1
    codes = np.repeat(np.arange(64), counts)[:, None].astype(np.uint64)
    for operator in (Prefix(64, 64), Ranges(64, 64), Dense(np.tri(64))):
        assert operator.answers_of_codes(codes, (64,)).max() <= 1


def kinds_of(base):
    return {kind for derived in base.__subclasses__() for kind in {derived, *kinds_of(derived)}}


def test_every_operator_of_the_package_is_drawn():
    """A new operator has to join `any_map`, unless it has too many items for entries."""
    shipped = {kind for kind in kinds_of(LinearMap) if kind.__module__.startswith("sordino_analysis")}
    without_entries = set(kinds_of(_ManyItems)) | {_ManyItems}
    drawn = {Identity, Total, Prefix, Ranges, Intervals, Dense, Kronecker, Boxes, Stack, WithoutRow, CharacterMap}
    assert shipped == drawn | {ScaledRows, ZeroOneMap, OneAttribute} | without_entries


class Signs(LinearMap):
    """An operator somebody adds: ±1, and nothing said about its entries."""

    def __init__(self, size):
        self.matrix = np.where(np.arange(size) <= np.arange(size - 1)[:, None], 1.0, -1.0)

    @property
    def shape(self):
        return self.matrix.shape

    def matvec(self, histogram):
        return self.matrix @ histogram

    def squared_matvec(self, histogram):
        return self.matrix**2 @ histogram

    def rmatvec(self, weights):
        return self.matrix.T @ weights

    def take(self, rows):
        return self.matrix[rows]


def test_an_operator_that_says_nothing_of_its_entries_gets_the_variances_of_its_matrix():
    domain = Domain((Categorical("c", tuple("abcd")),))
    queries = MatrixQueries(array_of(Signs(4).matrix, "<f8"), ("a", "b", "c"))
    workloads = [
        Workload(
            name="w",
            domain=domain,
            published=queries,
            operator=operator,
            name_query=str,
            scope=lambda query: QueryScope("matrix", None),
        )
        for operator in (Signs(4), Dense(Signs(4).matrix))
    ]
    randomizer = RandomizedResponse.for_guarantee(4, PureEpsilon.of(1))
    found = [unbiased_law(randomizer, workload).profile().figures() for workload in workloads]
    assert found[0] == found[1]
    assert found[0].max_variance > 0


def unbiased_law(randomizer, workload):
    truth = float(randomizer.own_weight - randomizer.other_weight) / 2.0**randomizer.bits
    other = float(randomizer.other_weight) / 2.0**randomizer.bits
    return answer_moments(randomizer, ScaledHistogramDecoder(1 / truth, -other / truth), workload)


def test_an_operator_must_say_what_its_squares_are():
    class Silent(Signs):
        squared_matvec = LinearMap.squared_matvec

    with pytest.raises(TypeError, match="squared_matvec"):
        Silent(3)


def test_figures_below_zero_are_refused():
    for figures in ((-4.785, 1.0, 0.0), (1.0, -1e-9, 0.0), (1.0, 1.0, -1e-9)):
        with pytest.raises(InvalidValue, match="below 0"):
            ErrorFigures(*figures)
