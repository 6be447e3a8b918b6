"""Starts balance, follow the factor, and cover what they promise."""

import numpy as np
import pytest

from sordino_analysis.optimisation.search.balanced_rows import balance
from sordino_analysis.optimisation.search.starts import begin, near_sets, portfolio, small_sets
from sordino_analysis.optimisation.search.tuning import Start


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0, 8.0])
def test_every_start_of_the_portfolio_is_a_kernel(epsilon):
    right = np.random.default_rng(1).normal(size=(4, 6))
    for start in portfolio(epsilon, right):
        logits, weights = begin(start, right, epsilon, 64, np.random.default_rng(0))
        rows = balance(logits, weights, epsilon)
        assert (weights > 0).all()
        np.testing.assert_allclose(rows.kernel.sum(axis=0), 1.0, rtol=1e-9)


def test_types_in_one_direction_are_told_apart_by_single_types():
    """Half-spaces put the first two types on one side always: their rows cannot be balanced."""
    right = np.array([[1.0, 3.0, -1.0], [0.2, 0.6, 0.7]])
    with pytest.raises(np.linalg.LinAlgError):
        begin(Start(1.0, 4.0, 0.0), right, 1.0, 40, np.random.default_rng(0))
    for start in portfolio(1.0, right):
        logits, _ = begin(start, right, 1.0, 40, np.random.default_rng(0))
        assert (np.sign(logits[:, 0]) != np.sign(logits[:, 1])).any()


def test_a_type_that_the_factor_does_not_see_is_told_apart_too():
    right = np.array([[-1.0, 0.0, 1.0]])
    assert all(start.singles > 0 for start in portfolio(1.0, right))
    for start in portfolio(1.0, right):
        logits, weights = begin(start, right, 1.0, 40, np.random.default_rng(0))
        np.testing.assert_allclose(balance(logits, weights, 1.0).kernel.sum(axis=0), 1.0, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [2.0, 4.0])
def test_many_ordered_types_need_no_short_runs(epsilon):
    right = np.random.default_rng(1).normal(size=(4, 6))
    assert len(portfolio(epsilon, right)) > 1
    (start,) = portfolio(epsilon, right, ordered=True)
    # Rows begin with more types than the best kernel's, and lose some.
    assert start.fill >= 2.0
    assert start.singles == 0.0


def test_single_types_get_their_share():
    logits, weights = begin(Start(1.0, 6.0, 0.95), np.eye(5), 4.0, 45, np.random.default_rng(0))
    alone = (logits > 0).sum(axis=1) == 1
    assert alone[-5:].all()
    assert weights[-5:].sum() > 0.5 * weights.sum()


def test_small_sets_are_those_of_one_and_two_types():
    sets = small_sets(5)
    assert sets.shape == (15, 5)
    assert len(np.unique(sets, axis=0)) == 15
    assert sorted(sets.sum(axis=1)) == [1] * 5 + [2] * 10


def test_near_sets_are_those_of_one_to_three_types_whose_columns_are_near():
    """Of cells of a 6 × 6 grid, whose columns are their places: those beside each other."""
    places = np.array([(across, down) for across in range(6) for down in range(6)], dtype=float).T
    sets = near_sets(places)
    assert len(np.unique(sets, axis=0)) == len(sets)
    assert set(sets.sum(axis=1)) == {1, 2, 3}
    assert {tuple(row) for row in np.eye(36, dtype=bool)} <= {tuple(row) for row in sets}
    widths = [np.ptp(places[:, row], axis=1).max() for row in sets]
    assert max(widths) <= 3
    assert np.mean(np.array(widths) <= 2) > 0.9
    assert near_sets(np.eye(3)).sum(axis=1).tolist().count(2) == 3
