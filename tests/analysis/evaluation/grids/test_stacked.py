"""Stacks, cells and rows on one line: sums over all queries against their list."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.evaluation.grids.answers import GridAnswers, listed_on_a_line
from sordino_analysis.evaluation.grids.families import CellFamily, LineFamily, PrefixFamily, RangeFamily
from sordino_analysis.evaluation.grids.means import mean_variances
from sordino_analysis.evaluation.grids.stacked import MatrixRows, StackFamily, family_of
from sordino_analysis.mechanisms.grid_levels import designed_levels
from sordino_analysis.mechanisms.shifted_grids import shipped
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_shared.guarantees import PureEpsilon
from tests.analysis.evaluation.grids.test_law import _law

SIZE = 37
ROWS = np.stack([np.arange(SIZE) / SIZE, np.where(np.arange(SIZE) < 9, 2.0, -1.0)])
STACK = StackFamily(
    (PrefixFamily(35, SIZE), CellFamily(SIZE, SIZE), RangeFamily(36, SIZE), MatrixRows(ROWS)), (1.5, 0.5, 0.02, 3.0)
)


def stacked(bins: int, *parts: tuple[object, float], **member: bool) -> Workload:
    attribute = {"name": "delay", "kind": "integers", "low": 0, "high": bins - 1, **member}
    stack = [{"queries": queries, "weight": weight} for queries, weight in parts]
    return parse_specification({"name": "delays", "domain": [attribute], "queries": {"stack": stack}}).build()


@pytest.mark.parametrize("family", [CellFamily(SIZE, SIZE), MatrixRows(ROWS), STACK], ids=["cells", "rows", "stack"])
def test_gram_distances_and_means_are_those_of_the_listed_queries(family: LineFamily) -> None:
    names = family.all()
    queries, weights = family.rows(names), family.weights(names)
    vectors = np.random.default_rng(2).standard_normal((3, SIZE))
    np.testing.assert_allclose(family.gram(vectors), (vectors @ queries.T * weights) @ queries, atol=1e-10)
    edges = np.array([0, 1, 4, 20, 36, 37])
    spread = np.repeat(np.diag(1 / np.diff(edges)), np.diff(edges), axis=1)
    np.testing.assert_allclose(family.cell_gram(edges), spread @ family.gram(spread).T, rtol=1e-12, atol=1e-12)
    density = vectors[0] / vectors[0].sum()
    expected = (weights[:, None] * (queries - (queries @ density)[:, None]) ** 2).sum(axis=0)
    np.testing.assert_allclose(family.squared_distances(density), expected, rtol=1e-9)
    law = _law(SIZE)
    listed = (weights[:, None] * law.variances(queries)).sum(axis=0) / family.count
    np.testing.assert_allclose(mean_variances(law, family), listed, rtol=1e-8)


def test_fewer_types_have_the_same_mean_of_a_row() -> None:
    smaller = MatrixRows(ROWS).resized(8).matrix
    np.testing.assert_allclose(smaller.mean(axis=1), ROWS.mean(axis=1))


def test_a_workload_is_the_family_of_its_queries_with_their_names_and_weights() -> None:
    row = [float(x % 5) for x in range(42)]
    workload = stacked(40, ("prefix", 3.0), ("histogram", 1.0), ({"matrix": [row]}, 2.0), missing=True, other=True)
    family = family_of(workload)
    assert family is not None
    names = family.all()
    np.testing.assert_array_equal(family.rows(names), workload.operator.dense())
    np.testing.assert_allclose(family.weights(names), workload.query_weights)
    assert [family.place(name) for name in names] == list(range(workload.queries))
    assert listed_on_a_line(workload).labels() == workload.labels()


def test_queries_of_two_attributes_or_without_an_order_are_no_family() -> None:
    letters = {"name": "letter", "kind": "categorical", "labels": list("abcd")}
    matrix = {"name": "m", "domain": [letters], "queries": {"matrix": [[0.0, 1.0, 0.0, 1.0]]}}
    assert family_of(parse_specification(matrix).build()) is None
    digits = {"name": "digit", "kind": "integers", "low": 0, "high": 4}
    both = {"name": "b", "domain": [letters, digits], "queries": "histogram"}
    assert family_of(parse_specification(both).build()) is None


def test_a_profile_is_that_of_the_listed_variances_with_the_weights_of_the_parts() -> None:
    workload = stacked(64, ("prefix", 1.0), ("histogram", 4.0))
    family = family_of(workload)
    assert isinstance(family, StackFamily)
    guarantee = PureEpsilon.of(1.0)
    answers = GridAnswers.of(shipped(designed_levels(family, 1.0), family, guarantee), workload)
    by_type = answers.type_variances()
    profile = answers.profile()
    np.testing.assert_allclose(profile.variance, by_type.max(axis=1), rtol=1e-9)
    figures, weights = profile.figures(), workload.query_weights
    assert figures.max_variance == pytest.approx((weights * by_type.max(axis=1)).max(), rel=1e-9)
    assert figures.mean_variance == pytest.approx((weights @ by_type).max() / workload.queries, rel=1e-9)
    # The row of all prefix sums weighs less than that of cells, or the weights were forgotten.
    assert weights[0] < weights[-1]
