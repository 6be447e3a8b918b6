"""Each statistic against a loop over all pairs of a small sample, ties and absent values included."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from sordino_analysis.questions.pairwise import PairwiseStatistic, QuadraticForm, parse_statistic
from sordino_shared.errors import InvalidValue

X = {"name": "x", "kind": "ordinal", "edges": [0, 1, 3], "unit": "min"}
Y = {"name": "y", "kind": "ordinal", "edges": [-2, 5], "missing": True, "other": True}
LABEL = {"name": "label", "kind": "categorical", "labels": ["yes", "no", "maybe"], "missing": True}
VALUES = [-1.0, 0.5, 2.5, 7.0]
TABLE = [0.0, 2.0, 3.0, 3.5]
USERS = 40

Cell = tuple[int, ...]
Pair = Callable[[Cell, Cell], float]


def _statistic(domain: list[dict[str, Any]], **statistic: Any) -> PairwiseStatistic:
    return parse_statistic({"name": "asked", "domain": domain, "statistic": statistic}).build()


def _users(statistic: PairwiseStatistic, seed: int = 3) -> tuple[list[Cell], np.ndarray[Any, Any]]:
    """USERS random users, and how many there are of each cell."""
    cells = np.random.default_rng(seed).integers(0, statistic.size, USERS)
    members = [tuple(int(i) for i in np.unravel_index(cell, statistic.domain.shape)) for cell in cells]
    return members, np.bincount(cells, minlength=statistic.size).astype(float)


def _mean(users: list[Cell], pair: Pair) -> float:
    return float(np.mean([pair(a, b) for a, b in combinations(users, 2)]))


def _mean_with_oneself(users: list[Cell], pair: Pair) -> float:
    return float(np.mean([pair(a, b) for a in users for b in users]))


def _sign(a: float, b: float) -> float:
    return float((a > b) - (a < b))


def _present(*members: Cell) -> bool:
    return all(member[1] < 3 for member in members)


LINE = [Y, X]
ONE_FORM: list[tuple[list[dict[str, Any]], dict[str, Any], Pair]] = [
    ([X, LABEL], {"kind": "gini_diversity"}, lambda a, b: float(a != b)),
    ([X, LABEL], {"kind": "gini_diversity", "attribute": "label"}, lambda a, b: float(a[1] != b[1])),
    (
        LINE,
        {"kind": "gini_mean_difference", "attribute": "x", "values": VALUES},
        lambda a, b: abs(VALUES[a[1]] - VALUES[b[1]]),
    ),
    (
        [X],
        {"kind": "gini_mean_difference", "outer": [-1, 7]},
        lambda a, b: abs([-1, 0.5, 2, 7][a[0]] - [-1, 0.5, 2, 7][b[0]]),
    ),
    (
        LINE,
        {"kind": "variance", "attribute": "x", "values": VALUES},
        lambda a, b: (VALUES[a[1]] - VALUES[b[1]]) ** 2 / 2,
    ),
    (LINE, {"kind": "lipschitz", "attribute": "x", "table": TABLE}, lambda a, b: TABLE[abs(a[1] - b[1])]),
    (
        [X, Y],
        {"kind": "lipschitz", "attribute": "y", "matrix": [[1, 2, 0], [2, 5, 1], [0, 1, -3]]},
        lambda a, b: [[1, 2, 0], [2, 5, 1], [0, 1, -3]][a[1]][b[1]] if _present(a, b) else 0.0,
    ),
    (
        [X],
        {"kind": "lipschitz", "values": VALUES, "function": {"distances": [0, 2, 4], "values": [0, 1, -1]}},
        lambda a, b: float(np.interp(abs(VALUES[a[0]] - VALUES[b[0]]), [0, 2, 4], [0, 1, -1])),
    ),
    (
        [X, Y],
        {"kind": "kendall", "variant": "a", "attributes": ["x", "y"]},
        lambda a, b: _sign(a[0], b[0]) * _sign(a[1], b[1]) if _present(a, b) else 0.0,
    ),
]


@pytest.mark.parametrize(("domain", "asked", "pair"), ONE_FORM, ids=[case[1]["kind"] for case in ONE_FORM])
def test_one_form_is_the_mean_over_pairs(domain: list[dict[str, Any]], asked: dict[str, Any], pair: Pair) -> None:
    statistic = _statistic(domain, **asked)
    users, counts = _users(statistic)
    assert statistic.is_one_form
    assert statistic.of_pairs(counts) == pytest.approx(_mean(users, pair), rel=1e-12)
    assert statistic.of_histogram(counts / USERS) == pytest.approx(_mean_with_oneself(users, pair), rel=1e-12)


def test_the_variance_is_the_variance() -> None:
    statistic = _statistic([X], kind="variance", values=VALUES)
    users, counts = _users(statistic)
    held = [VALUES[user[0]] for user in users]
    assert statistic.of_pairs(counts) == pytest.approx(np.var(held, ddof=1))
    assert statistic.of_histogram(counts / USERS) == pytest.approx(np.var(held))


@pytest.mark.parametrize("seed", range(4))
def test_tau_b_is_that_of_the_users_who_have_both_values(seed: int) -> None:
    statistic = _statistic([X, Y, LABEL], kind="kendall", variant="b", attributes=["x", "y"])
    users, counts = _users(statistic, seed)
    both = [user for user in users if _present(user)]
    expected = kendalltau([user[0] for user in both], [user[1] for user in both], variant="b").statistic
    assert len(both) < USERS
    assert statistic.of_pairs(counts) == pytest.approx(expected)
    # No pair of a user with itself is untied, so the diagonal takes nothing from the ratio.
    assert statistic.of_histogram(counts / USERS) == pytest.approx(expected)
    assert statistic.denominators == (1, 2)


@pytest.mark.parametrize("seed", range(4))
def test_the_area_under_the_curve_counts_ties_half_and_leaves_absent_labels_out(seed: int) -> None:
    statistic = _statistic([LABEL, Y], kind="auc", score="y", label="label", positive="no")
    users, counts = _users(statistic, seed)
    labelled = [user for user in users if _present(user) and user[0] < 3]
    positive = [user[1] for user in labelled if user[0] == 1]
    negative = [user[1] for user in labelled if user[0] != 1]
    expected = np.mean([0.5 + 0.5 * _sign(p, n) for p in positive for n in negative])
    assert statistic.of_pairs(counts) == pytest.approx(float(expected))
    assert statistic.of_histogram(counts / USERS) == pytest.approx(float(expected))
    share = _mean(users, lambda a, b: float(a in labelled and b in labelled and (a[0] == 1) != (b[0] == 1)))
    assert statistic.forms[1].of_pairs(counts) == pytest.approx(share)


def test_a_score_that_tells_everything_has_an_area_of_one() -> None:
    score = {"name": "s", "kind": "ordinal", "edges": [0]}
    label = {"name": "l", "kind": "categorical", "labels": ["bad", "good"]}
    statistic = _statistic([score, label], kind="auc", score="s", label="l", positive="good")
    assert statistic.of_pairs(np.array([3.0, 0, 0, 5])) == 1
    assert statistic.of_pairs(np.array([0.0, 3, 5, 0])) == 0
    with pytest.raises(InvalidValue, match="no value"):
        statistic.of_pairs(np.array([3.0, 0, 5, 0]))


RATIOS = [
    _statistic([X, Y], kind="kendall", variant="b", attributes=["y", "x"]),
    _statistic([LABEL, Y], kind="auc", score="y", label="label", positive="no"),
    _statistic([X], kind="gini_diversity"),
]


@pytest.mark.parametrize("statistic", RATIOS, ids=lambda statistic: statistic.forms[0].name)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_gradients_are_finite_differences(statistic: PairwiseStatistic, data: st.DataObject) -> None:
    place = np.array(
        data.draw(st.lists(st.floats(0.1, 1), min_size=len(statistic.forms), max_size=len(statistic.forms)))
    )
    step = 1e-6
    slopes = [
        (statistic.combine(place + step * axis) - statistic.combine(place - step * axis)) / (2 * step)
        for axis in np.eye(len(place))
    ]
    np.testing.assert_allclose(statistic.gradient(place), slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("statistic", RATIOS[:2], ids=lambda statistic: statistic.forms[0].name)
@pytest.mark.parametrize("share", [0.0, -0.1, np.nan])
def test_without_a_denominator_there_is_neither_value_nor_gradient(statistic: PairwiseStatistic, share: float) -> None:
    at = np.full(len(statistic.forms), 0.5)
    at[statistic.denominators[-1]] = share
    for ask in (statistic.combine, statistic.gradient):
        with pytest.raises(InvalidValue, match="no value"):
            ask(at)


@given(rows=st.lists(st.lists(st.integers(-9, 9), min_size=4, max_size=4), min_size=4, max_size=4))
@settings(max_examples=50, deadline=None)
def test_a_matrix_counts_by_its_symmetric_part_and_says_so(rows: list[list[int]]) -> None:
    matrix = np.array(rows, dtype=float)
    if np.ptp(matrix + matrix.T) == 0:
        return
    statistic = _statistic([X], kind="matrix", matrix=rows)
    users, counts = _users(statistic)
    ordered = [rows[a[0]][b[0]] for i, a in enumerate(users) for j, b in enumerate(users) if i != j]
    assert statistic.of_pairs(counts) == pytest.approx(float(np.mean(ordered)))
    assert bool(statistic.notes) == (not np.array_equal(matrix, matrix.T))
    np.testing.assert_array_equal(statistic.forms[0].matrix, (matrix + matrix.T) / 2)


def test_absent_members_are_told_of() -> None:
    diluted = _statistic([X, Y], kind="kendall", variant="a", attributes=["x", "y"])
    assert diluted.notes == ("a pair counts 0 where a user's y is missing or other",)
    assert "left out" in RATIOS[0].notes[0]
    assert _statistic([X], kind="variance", values=VALUES).notes == ("bins of x stand for the values listed, in min",)


def test_fewer_than_two_users_are_no_pair() -> None:
    for counts in ([1.0, 0, 0, 0], [0.0, 0, 0, 0]):
        with pytest.raises(InvalidValue, match="two users"):
            RATIOS[2].of_pairs(np.array(counts))


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        (np.ones((2, 3)), "square"),
        (np.ones(4), "square"),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), "symmetric"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "not finite"),
        (np.array([[np.inf, 0.0], [0.0, 0.0]]), "not finite"),
    ],
)
def test_what_is_no_quadratic_form(matrix: Any, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason):
        QuadraticForm("w", matrix)
