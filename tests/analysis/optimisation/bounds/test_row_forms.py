"""The forms against the sum of products that they stand for."""

import numpy as np
import pytest

from sordino_analysis.optimisation.bounds.row_forms import row_form


@pytest.fixture
def multipliers():
    rng = np.random.default_rng(3)
    return rng.exponential(size=5), np.triu(rng.exponential(size=(5, 5)), 1)


def products(row, level, epsilon):
    above, below = row - level, np.exp(epsilon) * level - row
    return above * below, np.outer(above, above)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 6.0])
def test_the_form_is_minus_the_weighted_products(multipliers, epsilon):
    rng = np.random.default_rng(1)
    form = row_form(*multipliers, epsilon)
    for _ in range(5):
        row, level = rng.normal(size=5), rng.normal()
        scaled = level * np.exp(epsilon / 2)
        value = row @ form.types @ row + 2 * scaled * form.mixed @ row + form.level * scaled**2
        singles, pairs = products(row, level, epsilon)
        expected = -(multipliers[0] @ singles) - (multipliers[1] * pairs).sum()
        assert value == pytest.approx(expected, rel=1e-9)


def test_the_reduced_form_is_never_positive_on_a_row(multipliers):
    rng = np.random.default_rng(2)
    levels, pairs = multipliers
    form = row_form(levels, 0.02 * pairs, 1.0)
    assert form.level > 0
    reduced = form.reduced()
    for _ in range(500):
        row = np.where(rng.random(5) < rng.random(), np.e, 1.0) if rng.random() < 0.5 else rng.uniform(1, np.e, 5)
        assert row @ reduced @ row <= 1e-12
    # The ratio of this row is more than e^ε, and the form notices.
    assert np.array([1.0, 1.0, 1.0, 1.0, 30.0]) @ reduced @ np.array([1.0, 1.0, 1.0, 1.0, 30.0]) > 0


def test_products_are_the_derivatives_of_the_reduced_form(multipliers):
    levels, pairs = multipliers
    pairs = 0.02 * pairs
    rng = np.random.default_rng(4)
    root = rng.normal(size=(5, 5))
    moments = root @ root.T

    def value(levels, pairs):
        return float((moments * row_form(levels, pairs, 1.3).reduced()).sum())

    by_levels, by_pairs = row_form(levels, pairs, 1.3).products(moments)
    step = 1e-6
    for x in range(5):
        moved = levels + step * np.eye(5)[x]
        back = levels - step * np.eye(5)[x]
        slope = (value(moved, pairs) - value(back, pairs)) / (2 * step)
        assert slope == pytest.approx(-by_levels[x], rel=1e-6, abs=1e-7)
        for y in range(x + 1, 5):
            one = np.zeros((5, 5))
            one[x, y] = step
            slope = (value(levels, pairs + one) - value(levels, pairs - one)) / (2 * step)
            assert slope == pytest.approx(-by_pairs[x, y], rel=1e-6, abs=1e-7)
