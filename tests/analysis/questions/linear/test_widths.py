"""Parities, marginals and stacks against their definitions, written out cell by cell."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from sordino_analysis.documents.queries import Queries
from sordino_analysis.questions.linear import WorkloadError, parse_specification, widths
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.operators import Symmetry
from sordino_shared.protocol.schema import from_plain, to_plain
from sordino_shared.randomizers.orbit_kernel import MAX_ATTRIBUTES


def specification(shape, queries):
    attributes = [
        {"name": f"a{i}", "kind": "categorical", "labels": [f"v{j}" for j in range(size)]}
        for i, size in enumerate(shape)
    ]
    return {"name": "asked", "domain": attributes, "queries": queries}


def workload(shape, queries):
    return parse_specification(specification(shape, queries)).build()


def rows_by_definition(shape, kind, widths):
    cells, rows = list(product(*(range(size) for size in shape))), []
    for width in widths:
        for support in combinations([a for a, size in enumerate(shape) if size > 1], width):
            if kind == "parities":
                rows.append([(-1) ** sum(x[a] for a in support) for x in cells])
                continue
            for held in product(*(range(shape[a]) for a in support)):
                rows.append([all(x[a] == v for a, v in zip(support, held, strict=True)) for x in cells])
    return np.array(rows, dtype=float)


CASES = [
    ((2, 2, 2, 2), "parities", 2, False),
    ((2, 2, 2), "parities", 3, True),
    ((2, 2, 2, 2), "marginals", 3, False),
    ((3, 2, 1, 4), "marginals", 2, False),
    ((3, 4, 3), "marginals", 2, True),
    ((5, 3), "marginals", 1, True),
]


@pytest.mark.parametrize(("shape", "kind", "width", "exactly"), CASES)
def test_rows_are_those_of_the_definition(shape, kind, width, exactly):
    asked = workload(shape, {"kind": kind, "width": width, "exactly": exactly})
    expected = rows_by_definition(shape, kind, [width] if exactly else range(1, width + 1))
    operator = asked.operator
    assert np.array_equal(operator.dense(), expected)
    rng = np.random.default_rng(5)
    for vector in (rng.random(asked.size), rng.random((asked.size, 3))):
        assert np.allclose(operator.matvec(vector), expected @ vector, atol=1e-12)
        assert np.allclose(operator.squared_matvec(vector), expected**2 @ vector, atol=1e-12)
    for weights in (rng.random(len(expected)), rng.random((len(expected), 2))):
        assert np.allclose(operator.rmatvec(weights), expected.T @ weights, atol=1e-12)
    assert np.array_equal(np.stack([operator.column(x) for x in range(asked.size)], axis=1), expected)
    some = rng.permutation(len(expected))[:5]
    assert np.array_equal(operator.take(some), expected[some])
    assert operator.zero_one is (kind == "marginals")
    assert asked.symmetry is Symmetry.ATTRIBUTES


def test_labels_name_attributes_and_members():
    asked = workload((2, 3, 2), {"kind": "marginals", "width": 2})
    labels = asked.labels()
    assert len(set(labels)) == asked.queries == 7 + 6 + 4 + 6
    assert labels[0] == "a0: v0"
    assert labels[7] == "a0: v0, a1: v0"
    assert labels[-1] == "a1: v2, a2: v1"
    assert workload((2, 2, 2), {"kind": "parities", "width": 2}).labels()[-1] == "parity of a1, a2"


def test_twenty_attributes_are_multiplied_without_a_matrix():
    asked = workload((2,) * 20, {"kind": "marginals", "width": 3, "exactly": True})
    assert asked.operator.shape == (comb(20, 3) * 8, 2**20)
    cells = np.array([0, 5, 2**20 - 1])
    truth = asked.truth(cells)
    assert np.allclose(truth, np.mean([asked.operator.column(int(x)) for x in cells], axis=0), atol=1e-12)
    assert truth.reshape(-1, 8).sum(axis=1) == pytest.approx(1)


MATRIX = {"matrix": [[1.0, 1, 1, 1, 1, 1], [0, 1, 0.5, 0, 0, -2]], "labels": ["all", "mixed"]}


@pytest.mark.parametrize(
    "queries",
    [
        {"kind": "parities", "width": 2},
        {"kind": "marginals", "width": 2, "exactly": True},
        {"stack": [{"queries": {"kind": "marginals", "width": 1}, "weight": 2}, {"queries": "histogram"}]},
        {"stack": [{"queries": {"kind": "marginals", "width": 1}}, {"queries": {"kind": "parities", "width": 2}}]},
    ],
)
def test_a_plan_publishes_the_queries_and_rebuilds_them(queries):
    asked = workload((2, 2), queries)
    again = build_workload(asked.domain, from_plain(Queries, to_plain(asked.published)), asked.name)
    assert np.array_equal(again.operator.dense(), asked.operator.dense())
    assert again.labels() == asked.labels()
    assert again.symmetry == asked.symmetry
    assert again.published == asked.published


def test_a_stack_is_its_parts_one_after_the_other():
    parts = [{"kind": "marginals", "width": 1}, MATRIX, {"a0": "histogram", "a1": "total"}]
    asked = workload((2, 3), {"stack": [{"queries": part} for part in parts]})
    alone = [workload((2, 3), part) for part in parts]
    expected = np.vstack([part.operator.dense() for part in alone])
    assert np.array_equal(asked.operator.dense(), expected)
    assert asked.labels() == [label for part in alone for label in part.labels()]
    # The first row of the matrix is the same for everybody.
    assert asked.varying_rows.tolist() == [q for q in range(asked.queries) if q != 5]
    rng = np.random.default_rng(2)
    vector, weights = rng.random(6), rng.random(len(expected))
    assert np.allclose(asked.operator.matvec(vector), expected @ vector)
    assert np.allclose(asked.operator.squared_matvec(vector), expected**2 @ vector)
    assert np.allclose(asked.operator.rmatvec(weights), expected.T @ weights)
    assert np.array_equal(asked.operator.column(4), expected[:, 4])
    assert np.array_equal(asked.operator.take(np.array([8, 0, 6])), expected[[8, 0, 6]])
    assert asked.symmetry is Symmetry.NONE


def test_marginals_and_parities_together_keep_their_symmetry():
    parts = [{"kind": "parities", "width": 1}, {"kind": "marginals", "width": 2, "exactly": True}]
    asked = workload((2, 2, 2), {"stack": [{"queries": part} for part in parts]})
    alone = [workload((2, 2, 2), part).operator.dense() for part in parts]
    assert np.array_equal(asked.operator.dense(), np.vstack(alone))
    assert asked.symmetry is Symmetry.ATTRIBUTES
    assert workload((2, 3), "histogram").symmetry is Symmetry.TYPES


def test_an_attribute_may_be_called_width():
    domain = [{"name": "width", "kind": "ordinal", "edges": [1, 2]}]
    document = {"name": "asked", "domain": domain, "queries": {"width": "prefix"}}
    assert parse_specification(document).build().queries == 2


@pytest.mark.parametrize(
    ("shape", "queries", "match"),
    [
        ((2, 3), {"kind": "parities", "width": 1}, "two members"),
        ((2, 2), {"kind": "parities", "width": 3}, "width must be from 1 to the 2"),
        ((2, 2), {"kind": "parities", "width": 0}, "width must be from 1"),
        ((2, 2), {"kind": "parities", "width": 1.5}, "width"),
        ((2, 2), {"kind": "halves", "width": 1}, "kind"),
        ((40, 60), {"kind": "marginals", "width": 2}, "2400 cells"),
        ((2,) * 24, {"kind": "marginals", "width": 10}, "too many"),
        ((2, 2), {"stack": []}, "stack"),
        ((2, 2), {"stack": [{"queries": "histogram", "weight": 0}]}, "weight"),
        ((2, 2), {"stack": [{"queries": {"stack": [{"queries": "histogram"}]}}]}, "stack"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(shape, queries, match):
    with pytest.raises(WorkloadError, match=match):
        workload(shape, queries)


def test_at_most_255_attributes_have_parities_and_marginals() -> None:
    assert workload((2,) * MAX_ATTRIBUTES, {"kind": "parities", "width": 1}).queries == MAX_ATTRIBUTES
    with pytest.raises(WorkloadError, match="attributes must be an integer from 1 to 255, got 256"):
        workload((2,) * (MAX_ATTRIBUTES + 1), {"kind": "parities", "width": 1})


def test_as_many_sets_and_characters_are_asked_as_the_limits_say_and_not_one_more(monkeypatch) -> None:
    """Four attributes have ten sets of one or two, and as many characters."""
    asked = {"kind": "parities", "width": 2}
    monkeypatch.setattr(widths, "_MOST_QUERIES", 10)
    monkeypatch.setattr(widths, "MAX_SUMS", 10)
    assert workload((2,) * 4, asked).queries == 10
    monkeypatch.setattr(widths, "MAX_SUMS", 9)
    with pytest.raises(WorkloadError, match="10 queries on 10 characters are too many"):
        workload((2,) * 4, asked)
    monkeypatch.setattr(widths, "_MOST_QUERIES", 9)
    with pytest.raises(WorkloadError, match="10 sets of attributes are too many"):
        workload((2,) * 4, asked)


def test_as_many_queries_are_asked_as_the_limit_says_and_not_one_more(monkeypatch) -> None:
    """Two attributes of three members have six marginals of one."""
    asked = {"kind": "marginals", "width": 1}
    monkeypatch.setattr(widths, "_MOST_QUERIES", 6)
    assert workload((3, 3), asked).queries == 6
    monkeypatch.setattr(widths, "_MOST_QUERIES", 5)
    with pytest.raises(WorkloadError, match="6 queries on"):
        workload((3, 3), asked)
