"""Balanced rows are kernels, and their gradient is the derivative of whatever is asked of them."""

import numpy as np
import pytest

from sordino_analysis.optimisation.search.balanced_rows import balance, balanced_weights


@pytest.fixture
def somewhere():
    rng = np.random.default_rng(11)
    logits = rng.normal(size=(14, 5)) * 2
    weights = rng.uniform(0.5, 1.5, 14)
    return logits, weights / balance(logits, weights, 1.2).levels.T.dot(weights).mean()


def test_every_column_sums_to_one_and_every_ratio_holds(somewhere):
    rows = balance(*somewhere, 1.2)
    np.testing.assert_allclose(rows.kernel.sum(axis=0), 1.0, rtol=1e-12)
    assert (rows.kernel.max(axis=1) <= np.exp(1.2) * rows.kernel.min(axis=1)).all()
    assert (rows.row_weights > 0).all()


def test_the_correction_is_the_least_one(somewhere):
    """θ = t ∘ (1 + A y) minimises Σ (θ − t)²/t among all weights that balance: any other way costs more."""
    logits, weights = somewhere
    rows = balance(logits, weights, 1.2)
    moved = rows.row_weights - weights
    rng = np.random.default_rng(0)
    for _ in range(5):
        free = rng.normal(size=len(weights))
        free -= rows.levels @ np.linalg.lstsq(rows.levels.T @ rows.levels, rows.levels.T @ free)[0]
        assert moved @ (free / weights) == pytest.approx(0, abs=1e-10)


def test_the_gradient_matches_finite_differences(somewhere):
    logits, weights = somewhere
    rng = np.random.default_rng(5)
    curvature, slope = rng.normal(size=(14, 5)), rng.normal(size=(14, 5))

    def value(logits, weights):
        kernel = balance(logits, weights, 1.2).kernel
        return float((slope * kernel + curvature * kernel**2).sum())

    kernel = balance(logits, weights, 1.2).kernel
    by_logits, by_weights = balance(logits, weights, 1.2).gradient(slope + 2 * curvature * kernel)
    for y in range(14):
        for x in range(5):
            step = np.zeros((14, 5))
            step[y, x] = 1e-5
            found = (value(logits + step, weights) - value(logits - step, weights)) / 2e-5
            assert by_logits[y, x] == pytest.approx(found, rel=1e-5, abs=1e-8)
        step = 1e-6 * np.eye(14)[y]
        found = (value(logits, weights + step) - value(logits, weights - step)) / 2e-6
        assert by_weights[y] == pytest.approx(found, rel=1e-5, abs=1e-7)


def test_weights_are_balanced_near_where_they_were(somewhere):
    logits, weights = somewhere
    levels = balance(logits, weights, 1.2).levels
    balanced = balanced_weights(levels, weights)
    np.testing.assert_allclose(levels.T @ balanced, 1.0, rtol=1e-9)
    assert (balanced > 0).all()
    np.testing.assert_allclose(balanced_weights(levels, balanced), balanced, rtol=1e-9)


def test_rows_that_cannot_be_balanced_are_told():
    levels = np.array([[1.0, 2.0, 2.0], [1.0, 2.0, 2.0]])
    with pytest.raises(ValueError, match="cannot be weighted"):
        balanced_weights(levels, np.ones(2))
