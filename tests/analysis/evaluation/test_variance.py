"""Errors of a randomizer with its decoder: by definition, by blocks and in closed form."""

import numpy as np
import pytest

from sordino_analysis.documents.analyst_part import ErrorFigures
from sordino_analysis.documents.decoders import AnswerDecoder, HistogramDecoder, ScaledHistogramDecoder
from sordino_analysis.documents.queries import MatrixQueries
from sordino_analysis.evaluation import linear_answers
from sordino_analysis.evaluation.answer_moments import ErrorProfile
from sordino_analysis.evaluation.variance import answer_moments, counts_as_unbiased, type_variances
from sordino_analysis.questions.linear import TooLargeForDense, builtin, parse_specification
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import DenseRows, FiniteKernel, RandomizedResponse, SubsetSelection

PRODUCT = {
    "name": "product",
    "domain": [
        {"name": "age", "kind": "ordinal", "edges": [1.0, 2.0, 3.0], "missing": True},
        {"name": "colour", "kind": "categorical", "labels": ["red", "blue"], "other": True},
    ],
    "queries": {"age": "ranges", "colour": "histogram"},
}


def dense_twin(workload):
    """The same queries as a matrix."""
    matrix = workload.operator.dense()
    labels = tuple(workload.labels())
    return build_workload(workload.domain, MatrixQueries(array_of(matrix, "<f8"), labels))


@pytest.fixture
def kernel():
    """A kernel of 4 types, its float table, and an AnswerDecoder that is slightly wrong for 3 queries."""
    rng = np.random.default_rng(3)
    table = rng.integers(500, 9000, size=(6, 4)).astype(np.uint64)
    randomizer = FiniteKernel(16, DenseRows(array_of(table, "<u8")))
    rows, offset = rng.normal(size=(3, randomizer.outputs)), rng.normal(size=3)
    matrix = np.array([[1.0, 0, 0, 2], [3, 3, 3, 3], [0, 1, -1, 0.5]])
    document = PRODUCT | {
        "domain": [{"name": "v", "kind": "categorical", "labels": list("abcd")}],
        "queries": {"matrix": matrix.tolist()},
    }
    decoder = AnswerDecoder(array_of(rows, "<f8"), array_of(offset, "<f8"))
    return randomizer, decoder, parse_specification(document).build(), rows, offset, matrix


def test_a_profile_is_the_definition_over_all_outputs_and_leaves_constant_queries_out(kernel):
    randomizer, decoder, workload, rows, offset, matrix = kernel
    law = kernel_table(randomizer) / 2.0**16
    by_type = (rows**2) @ law - (rows @ law) ** 2
    profile = answer_moments(randomizer, decoder, workload).profile()
    np.testing.assert_allclose(profile.variance, [by_type[0].max(), 0.0, by_type[2].max()])
    np.testing.assert_allclose(profile.type_variance, by_type[[0, 2]].mean(axis=0))
    bias = np.abs(rows @ law + offset[:, None] - matrix).max(axis=1)
    np.testing.assert_allclose(profile.bias, [bias[0], 0.0, bias[2]])
    figures = profile.figures()
    assert figures.max_variance == pytest.approx(max(by_type[0].max(), by_type[2].max()))
    assert figures.mean_variance == pytest.approx(by_type[[0, 2]].mean(axis=0).max())
    assert figures.bias_bound == pytest.approx(max(bias[0], bias[2]))


def test_mixed_variances_and_the_covariance_root_agree_with_the_variances_of_types(kernel):
    randomizer, decoder, workload, rows, _, _ = kernel
    histogram = np.array([0.1, 0.2, 0.3, 0.4])
    law = answer_moments(randomizer, decoder, workload)
    by_type = law.type_variances()
    assert not by_type[1].any()
    np.testing.assert_allclose(law.mixed_variances(histogram), by_type @ histogram)
    root = law.covariance_root(histogram)
    np.testing.assert_allclose((root**2).sum(axis=1), by_type @ histogram, atol=1e-12)
    chances = kernel_table(randomizer) / 2.0**16
    means = rows @ chances
    expected = (rows * (chances @ histogram)) @ rows.T - (means * histogram) @ means.T
    np.testing.assert_allclose((root @ root.T)[0, 2], expected[0, 2])


def test_a_histogram_decoder_is_the_answer_decoder_that_it_stands_for(kernel):
    randomizer, _, workload, _, _, matrix = kernel
    rng = np.random.default_rng(4)
    inverse, offset = rng.normal(size=(4, randomizer.outputs)), rng.normal(size=4)
    by_histogram = HistogramDecoder(array_of(inverse, "<f8"), array_of(offset, "<f8"))
    by_answers = AnswerDecoder(array_of(matrix @ inverse, "<f8"), array_of(matrix @ offset, "<f8"))
    one, other = (answer_moments(randomizer, decoder, workload) for decoder in (by_histogram, by_answers))
    np.testing.assert_allclose(one.type_variances(), other.type_variances(), atol=1e-12)
    np.testing.assert_allclose(one.profile().bias, other.profile().bias)
    histogram = np.full(4, 0.25)
    roots = [law.covariance_root(histogram)[[0, 2]] for law in (one, other)]
    np.testing.assert_allclose(roots[0] @ roots[0].T, roots[1] @ roots[1].T, atol=1e-12)


@pytest.mark.parametrize("workload", [builtin("prefix", 7), builtin("ranges", 5), parse_specification(PRODUCT).build()])
@pytest.mark.parametrize("subset_size", [1, 3])
def test_the_closed_form_for_indicators_is_what_dense_blocks_say(workload, subset_size, monkeypatch):
    monkeypatch.setattr(linear_answers, "_BLOCK_ENTRIES", 3 * workload.size)
    randomizer = SubsetSelection.for_guarantee(workload.size, subset_size, PureEpsilon.of(1))
    decoder = ScaledHistogramDecoder(1.7, -0.4)
    closed, dense = (answer_moments(randomizer, decoder, form) for form in (workload, dense_twin(workload)))
    assert type(closed) is not type(dense)
    histogram = np.random.default_rng(0).dirichlet(np.ones(workload.size))
    np.testing.assert_allclose(closed.type_variances(), dense.type_variances(), atol=1e-12)
    np.testing.assert_allclose(closed.mixed_variances(histogram), dense.mixed_variances(histogram))
    one, other = closed.profile(), dense.profile()
    np.testing.assert_allclose(one.variance, other.variance)
    np.testing.assert_allclose(one.type_variance, other.type_variance)
    assert (one.bias >= other.bias * (1 - 1e-12)).all()
    roots = [law.covariance_root(histogram) for law in (closed, dense)]
    np.testing.assert_allclose(roots[0] @ roots[0].T, roots[1] @ roots[1].T, atol=1e-11)


def test_hundreds_of_thousands_of_types_need_no_matrix():
    workload = builtin("prefix", 200_000)
    randomizer = RandomizedResponse.for_guarantee(200_000, PureEpsilon.of(8))
    law = answer_moments(randomizer, ScaledHistogramDecoder(2.0, -1.0), workload)
    assert law.profile().figures().max_variance > 0
    assert law.covariance_root(np.full(200_000, 5e-6)) is None
    with pytest.raises(TooLargeForDense):
        law.type_variances()


def test_parts_that_do_not_fit_are_told_apart(kernel):
    randomizer, decoder, workload, *_ = kernel
    with pytest.raises(InvalidValue, match="for 4 types, the domain has 7"):
        answer_moments(randomizer, decoder, builtin("prefix", 7))
    with pytest.raises(InvalidValue, match="the decoder has shape"):
        answer_moments(randomizer, ScaledHistogramDecoder(1.0, 0.0), workload)
    with pytest.raises(InvalidValue, match="the decoder has shape"):
        answer_moments(randomizer, decoder, builtin("ranges", 4))


def test_an_error_adds_the_bias_to_the_variance_of_the_mean():
    profile = ErrorProfile(np.array([4.0, 1.0]), np.array([0.0, 0.3]), np.array([2.0]), np.ones(2))
    np.testing.assert_allclose(profile.rmse(100), [0.2, np.sqrt(0.01 + 0.09)])


def test_rounding_counts_as_unbiased_and_a_bias_does_not():
    assert counts_as_unbiased(ErrorFigures(4.0, 1.0, 0.0019))
    assert not counts_as_unbiased(ErrorFigures(4.0, 1.0, 0.0021))


def test_variances_of_a_plan(plan_of):
    plan = plan_of("prefix", 5, mechanism="randomized_response")
    by_type = type_variances(plan.device, plan.analyst.decoder, plan.request.workload)
    assert by_type.shape == (4, 5)
    assert by_type.max() == pytest.approx(plan.analyst.figures.max_variance)
