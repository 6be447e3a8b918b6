"""The weighted spectrum, through the smaller Gram matrix, against a plain singular value decomposition."""

import numpy as np
import pytest

from sordino_analysis.optimisation.factorization.weighted import weighted_spectrum


@pytest.mark.parametrize("shape", [(5, 9), (9, 5), (6, 6), (1, 4), (4, 1)])
def test_it_agrees_with_a_plain_decomposition(shape):
    rng = np.random.default_rng(1)
    matrix, u, v = rng.normal(size=shape), rng.dirichlet(np.ones(shape[0])), rng.dirichlet(np.ones(shape[1]))
    spectrum = weighted_spectrum(matrix, u, v)
    exact = np.linalg.svd(np.sqrt(u)[:, None] * matrix * np.sqrt(v), compute_uv=False).sum()
    assert exact * (1 - 1e-12) <= spectrum.nuclear_norm * (1 + 1e-9)
    assert spectrum.nuclear_norm <= exact
    left, right = spectrum.factors()
    np.testing.assert_allclose(left.T @ right, matrix, atol=1e-12)
    np.testing.assert_allclose((left**2).sum(axis=0), spectrum.row_squares())
    np.testing.assert_allclose((right**2).sum(axis=0), spectrum.column_squares())
    assert u @ spectrum.row_squares() == pytest.approx(exact)


@pytest.mark.parametrize("condition", [1e3, 1e6, 1e9, 1e12])
def test_small_singular_values_cost_optimality_and_never_exactness(condition):
    rng = np.random.default_rng(2)
    left, right = np.linalg.qr(rng.normal(size=(8, 8)))[0], np.linalg.qr(rng.normal(size=(8, 8)))[0]
    matrix = left @ np.diag(np.geomspace(1, 1 / condition, 8)) @ right
    uniform = np.full(8, 1 / 8)
    spectrum = weighted_spectrum(matrix, uniform, uniform)
    exact = np.linalg.svd(matrix, compute_uv=False).sum() / 8
    assert exact * (1 - 1e-6) <= spectrum.nuclear_norm <= exact * (1 + 1e-12)
    factors = spectrum.factors()
    # Rows that change no query by more than 1e-11 of its size are left out; the rest is exact.
    np.testing.assert_allclose(factors[0].T @ factors[1], matrix, atol=2e-11)


def test_negligible_rows_are_left_out():
    matrix = np.outer(np.arange(1.0, 7.0), np.arange(1.0, 5.0))
    spectrum = weighted_spectrum(matrix, np.full(6, 1 / 6), np.full(4, 1 / 4))
    assert spectrum.factors()[0].shape == (1, 6)
