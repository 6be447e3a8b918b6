"""Quantiles of sums of χ² variables against direct draws and closed forms."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

from sordino_server.estimation.quadratic_error import QuadraticError


def test_without_a_quadratic_part_the_error_is_normal():
    error = QuadraticError(4.0, 0.0, np.eye(2), np.eye(2), 10)
    assert error.quantiles(0.95) == pytest.approx((-2 * norm.ppf(0.975), 2 * norm.ppf(0.975)))
    assert error.standard_error == 2


@pytest.mark.parametrize(("turn", "low", "high"), [(1.0, 0.025, 0.975), (-0.5, 0.975, 0.025)])
def test_one_direction_alone_is_chi_squared_with_its_sign(turn, low, high):
    form, covariance, users = np.diag([1.0, 0.0, 0.0]), np.diag([9.0, 4.0, 1.0]), 10
    scale = 9.0 / users * turn
    error = QuadraticError(0.0, 2 * scale**2, covariance, form, users, turn)
    expected = sorted(scale * (chi2.ppf(p, 1) - 1) for p in (low, high))
    # 20,000 draws: the standard error of the upper quantile is 2 %.
    assert error.quantiles(0.95) == pytest.approx(expected, rel=0.05)


def test_many_types_in_a_general_position_have_the_quantiles_of_drawn_vectors():
    generator = np.random.default_rng(2)
    size, users = 80, 50
    root, half = generator.standard_normal((2, size, size))
    scales = 1.0 / np.arange(1, size + 1)
    form, covariance = (half * scales) @ half.T + half[:, :1] @ half[:, :1].T, root @ root.T / size
    product = form @ covariance
    quadratic = 2 * np.trace(product @ product) / users**2
    error = QuadraticError(quadratic, quadratic, covariance, form, users)
    noise = generator.standard_normal((40_000, size)) @ root.T / np.sqrt(size * users)
    drawn = np.einsum("nx,xz,nz->n", noise, form, noise) - np.trace(product) / users
    drawn += np.sqrt(quadratic) * generator.standard_normal(len(drawn))
    assert error.quantiles(0.9) == pytest.approx(np.quantile(drawn, [0.05, 0.95]), rel=0.05)


def test_a_covariance_without_all_directions_does():
    form = np.diag([1.0, 1.0, -2.0])
    covariance = np.diag([1.0, 0.0, 1.0])
    low, high = QuadraticError(0.1, 10.0, covariance, form, 1).quantiles(0.95)
    assert low < 0 < high
