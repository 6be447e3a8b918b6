"""A search over half of a mirrored kernel, against the whole kernel."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad

from sordino_analysis.optimisation.factorization import factorize
from sordino_analysis.optimisation.search import joint
from sordino_analysis.optimisation.search.balanced_rows import balance, balanced_weights
from sordino_analysis.optimisation.search.column_generation import WeightedRows, generate_columns
from sordino_analysis.optimisation.search.images import Images, reflected
from sordino_analysis.optimisation.search.objectives import (
    AveragedVariance,
    SoftMaximum,
    averaged_by_type,
    gls_decoder,
    variances,
)
from sordino_analysis.optimisation.search.tuning import JOINT
from sordino_analysis.questions.linear import builtin
from sordino_analysis.request_terms import Effort

EPSILON, TYPES = 1.0, 6


def centred(kind, types=TYPES):
    workload = builtin(kind, types)
    rows = workload.operator.dense()[workload.varying_rows]
    return rows - rows.mean(axis=1, keepdims=True)


def half(seed=0, rows=9):
    """Logits, weights, rows whose images make a kernel with them, and even type weights."""
    generator = np.random.default_rng(seed)
    images = reflected(centred("prefix"))
    logits, weights = generator.normal(0, 2, (rows, TYPES)), generator.uniform(0.5, 1, rows)
    weights /= images.by_type(balance(logits, weights, EPSILON, images).levels.T @ weights).mean()
    levels = balance(logits, weights, EPSILON, images).levels
    weights = balanced_weights(levels, weights, images)
    return images, logits, weights, weights[:, None] * levels, images.even(generator.dirichlet(np.ones(TYPES)))


@pytest.mark.parametrize("kind", ["prefix", "ranges", "histogram"])
def test_queries_read_backwards_are_queries_or_their_negatives(kind):
    matrix = centred(kind)
    image = reflected(matrix).image
    np.testing.assert_allclose(matrix[np.ix_(image.queries, image.types)], image.signs[:, None] * matrix)


def test_a_workload_that_changes_has_no_image():
    matrix = centred("prefix")
    matrix[0] *= 2
    assert reflected(matrix).image is None
    assert reflected(np.vstack([matrix[1:], matrix[1:]])).image is None


def test_sums_over_half_are_those_over_the_whole_kernel():
    images, _, _, kernel, type_weights = half()
    matrix, whole = centred("prefix"), images.all_rows(kernel)
    np.testing.assert_allclose(whole.sum(axis=0), 1.0)
    decoder = images.all_outputs(gls_decoder(kernel, matrix, type_weights, images))
    np.testing.assert_allclose(decoder, gls_decoder(whole, matrix, type_weights), atol=1e-7)
    np.testing.assert_allclose(decoder @ whole, matrix, atol=1e-8)
    expected = variances(whole, decoder, matrix)
    found = variances(kernel, gls_decoder(kernel, matrix, type_weights, images), matrix, images)
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    gram, second = matrix.T @ matrix / len(matrix), (matrix**2).mean(axis=0)
    by_type = averaged_by_type(kernel, gram, second, type_weights, images)
    np.testing.assert_allclose(by_type, expected.mean(axis=0), rtol=1e-7)


def objectives(images, matrix, kernel, type_weights):
    gram, second = matrix.T @ matrix / len(matrix), (matrix**2).mean(axis=0)
    scale = variances(kernel, gls_decoder(kernel, matrix, type_weights, images), matrix, images).max()
    yield AveragedVariance(gram, second, type_weights, images)
    yield SoftMaximum(matrix, type_weights, float(scale), 8.0, images=images)


@pytest.mark.parametrize("number", [0, 1])
def test_slopes_of_half_are_differences_of_the_value(number):
    images, logits, weights, kernel, type_weights = half()
    matrix = centred("prefix")
    evaluate = list(objectives(images, matrix, kernel, type_weights))[number]
    free = gls_decoder(kernel, matrix, type_weights, images) * 1.1
    ends = np.cumsum([logits.size, weights.size])

    def parts(values):
        moved, heavy, decoder = np.split(values, ends)
        return balance(moved.reshape(logits.shape), heavy, EPSILON, images), decoder.reshape(free.shape)

    def value(values):
        rows, decoder = parts(values)
        return evaluate(rows.kernel, decoder)[0]

    def slope(values):
        rows, decoder = parts(values)
        _, by_kernel, by_free = evaluate(rows.kernel, decoder)
        by_free = np.zeros_like(free) if by_free is None else by_free
        return np.concatenate([part.ravel() for part in (*rows.gradient(by_kernel), by_free)])

    start = np.concatenate([logits.ravel(), weights, free.ravel()])
    size = np.abs(slope(start)).max()
    assert size > 1e-3
    assert check_grad(value, slope, start) < 1e-4 * size


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_a_search_over_half_ends_where_one_over_all_rows_does(monkeypatch, objective):
    """Within 1.5 %, with an unbiased decoder for the workload as it was given; all rows get their images at the end."""
    matrix = builtin("prefix", 16).operator.dense()[:15]
    factors = factorize(matrix, objective)
    found = []
    for least in (8, 1000):
        monkeypatch.setattr(joint, "JOINT", replace(JOINT, fewest_reflected=least))
        design = joint.search_kernel(matrix, EPSILON, factors, effort=Effort.QUICK)
        kernel = design.low[:, None] * np.where(design.members, np.exp(EPSILON), 1.0)
        decoder = design.decoder
        if decoder is None:
            decoder = gls_decoder(kernel, matrix, design.type_weights)
        np.testing.assert_allclose(decoder @ kernel, matrix, atol=1e-7)
        variance = variances(kernel, decoder, matrix)
        found.append(variance.max() if objective == "max" else variance.mean(axis=0).max())
    assert found[0] == pytest.approx(found[1], rel=0.015)


def test_new_rows_of_half_are_as_good_as_those_of_all():
    matrix = centred("prefix", 12)
    single = 1 / (np.exp(EPSILON) + 11)
    start = WeightedRows(np.eye(12, dtype=bool), np.full(12, single), np.full(12, 1 / 12))
    gram, second, found = matrix.T @ matrix / len(matrix), (matrix**2).mean(axis=0), []
    for images in (reflected(matrix), Images()):
        rows = generate_columns(matrix, EPSILON, start, 40, images=images)
        kernel = rows.weights[:, None] * np.where(rows.members, np.exp(EPSILON), 1.0)
        np.testing.assert_allclose(kernel.sum(axis=0), 1.0)
        found.append(averaged_by_type(kernel, gram, second, rows.type_weights).max())
    assert found[0] == pytest.approx(found[1], rel=1e-3)
