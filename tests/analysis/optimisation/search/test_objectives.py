"""Every objective of the search against its definition, and every gradient against finite differences."""

import numpy as np
import pytest

from sordino_analysis.optimisation.search.objectives import (
    AveragedVariance,
    SoftMaximum,
    averaged_by_type,
    gls_decoder,
    variances,
)

EPSILON = 1.1


@pytest.fixture
def scene():
    """A random kernel with unequal rows (12, 4), queries (6, 4), π and ρ."""
    rng = np.random.default_rng(21)
    rows = rng.uniform(1.0, np.exp(EPSILON), size=(12, 4))
    kernel = rows / rows.sum(axis=0)
    return kernel, rng.normal(size=(6, 4)), rng.dirichlet(np.full(4, 3.0)), rng.dirichlet(np.ones(6))


def averaged(matrix, queries, types):
    gram = (matrix * queries[:, None]).T @ matrix
    return AveragedVariance(gram, queries @ matrix**2, types)


def differences(value, point, step=1e-6):
    """Central differences of a function of an array."""
    found = np.zeros_like(point)
    for index in np.ndindex(point.shape):
        moved = np.zeros_like(point)
        moved[index] = step
        found[index] = (value(point + moved) - value(point - moved)) / (2 * step)
    return found


def test_variances_are_those_of_the_random_contribution(scene):
    kernel, matrix, types, _ = scene
    decoder = gls_decoder(kernel, matrix, types)
    np.testing.assert_allclose(decoder @ kernel, matrix, atol=1e-7)
    found = variances(kernel, decoder, matrix)
    for query in range(6):
        for holder in range(4):
            mean = decoder[query] @ kernel[:, holder]
            expected = kernel[:, holder] @ (decoder[query] - mean) ** 2
            assert found[query, holder] == pytest.approx(expected, rel=1e-6)


def test_no_unbiased_decoder_has_less_averaged_variance(scene):
    kernel, matrix, types, _ = scene
    decoder = gls_decoder(kernel, matrix, types)
    least = variances(kernel, decoder, matrix) @ types
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = rng.normal(size=decoder.shape)
        other -= other @ kernel @ np.linalg.pinv(kernel)
        np.testing.assert_allclose((decoder + other) @ kernel, matrix, atol=1e-7)
        assert (variances(kernel, decoder + 0.1 * other, matrix) @ types > least).all()


def test_the_averaged_variance_is_that_of_the_best_decoder(scene):
    kernel, matrix, types, queries = scene
    table = variances(kernel, gls_decoder(kernel, matrix, types), matrix)
    value, _, _ = averaged(matrix, queries, types)(kernel, None)
    assert np.exp(value) == pytest.approx(queries @ table @ types, rel=1e-7)
    gram = (matrix * queries[:, None]).T @ matrix
    by_type = averaged_by_type(kernel, gram, queries @ matrix**2, types)
    np.testing.assert_allclose(by_type, queries @ table, rtol=1e-7)


def test_the_gradient_of_the_averaged_variance(scene):
    kernel, matrix, types, queries = scene
    objective = averaged(matrix, queries, types)
    _, gradient, _ = objective(kernel, None)
    found = differences(lambda moved: objective(moved, None)[0], kernel)
    np.testing.assert_allclose(gradient, found, rtol=1e-4, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("sharpness", [3.0, 40.0])
def test_the_gradients_of_the_soft_maximum(scene, sharpness):
    """Away from balance and with a decoder that is not unbiased by itself, so that every term counts."""
    kernel, matrix, types, _ = scene
    free = gls_decoder(kernel, matrix, types) + np.random.default_rng(2).normal(size=(6, 12))
    scale = float(variances(kernel, free, matrix).max())
    objective = SoftMaximum(matrix, types, scale, sharpness)
    _, by_kernel, by_free = objective(kernel, free)
    found = differences(lambda moved: objective(moved, free)[0], kernel)
    np.testing.assert_allclose(by_kernel, found, rtol=1e-4, atol=1e-6 * np.abs(found).max())
    found = differences(lambda moved: objective(kernel, moved)[0], free, 1e-5)
    np.testing.assert_allclose(by_free, found, rtol=1e-4, atol=1e-6 * np.abs(found).max())


def test_the_soft_maximum_is_above_the_maximum_and_tightens(scene):
    kernel, matrix, types, _ = scene
    free = gls_decoder(kernel, matrix, types)
    worst = float(variances(kernel, free, matrix).max())
    soft = [SoftMaximum(matrix, types, worst, sharpness)(kernel, free)[0] for sharpness in (2.0, 20.0, 400.0)]
    assert soft[0] > soft[1] > soft[2] >= 1.0
    assert soft[2] <= 1.0 + np.log(24) / 400


def test_the_soft_maximum_wants_a_decoder(scene):
    kernel, matrix, types, _ = scene
    with pytest.raises(ValueError, match="decoder"):
        SoftMaximum(matrix, types, 1.0, 8.0)(kernel, None)
