"""Type weights in place of a decoder's matrix: hardly more variance, the same estimates, nothing that does not fit."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.decoders import AnswerDecoder, WeightedDecoder
from sordino_analysis.estimation.linear import estimate
from sordino_analysis.evaluation import weighted_decoder as module
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.integer_kernels import histogram_decoder, integer_kernel, probabilities
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.evaluation.weighted_decoder import expand_weighted
from sordino_analysis.mechanisms import optimised_kernel
from sordino_analysis.optimisation.search.balanced_rows import balanced_weights
from sordino_analysis.optimisation.search.minimax_weights import minimax_weights
from sordino_analysis.optimisation.search.objectives import variances
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import RandomizedResponse

SIZE, UNIFORM = 12, np.full(12, 1 / 12)
RANGES = builtin("ranges", SIZE)
MATRIX = RANGES.operator.dense()


@pytest.fixture(scope="module")
def kernel():
    """A random kernel at ε = 1.5."""
    members = np.random.default_rng(3).random((90, SIZE)) < 0.25
    levels = np.where(members, np.exp(1.5), 1.0)
    return integer_kernel(
        balanced_weights(levels, np.full(90, 1 / levels.sum(axis=0).mean())), members, PureEpsilon.of("1.5")
    )


@pytest.fixture(scope="module")
def found(kernel):
    return minimax_weights(probabilities(kernel), MATRIX, UNIFORM)


@pytest.fixture(scope="module")
def minimax(kernel, found):
    """The matrix of the least worst variance."""
    rows = found.decoder(probabilities(kernel), MATRIX)
    return AnswerDecoder(array_of(rows, "<f8"), array_of(np.zeros(len(rows)), "<f8"))


@pytest.fixture(scope="module")
def weighted(found):
    return WeightedDecoder(array_of(found.type_weights, "<f8"), array_of(found.groups, "<i4"))


def worst(kernel, decoder):
    return answer_moments(kernel, decoder, RANGES).profile().figures().max_variance


def test_a_few_weights_have_the_worst_variance_of_the_matrix(kernel, minimax, weighted):
    assert worst(kernel, weighted) == pytest.approx(worst(kernel, minimax), rel=1e-6)
    # Least squares for all queries alike would not do.
    assert worst(kernel, histogram_decoder(kernel, UNIFORM)) > 1.05 * worst(kernel, minimax)
    assert len(weighted.type_weights.data) + len(weighted.groups.data) < len(minimax.matrix.data) / 5
    assert answer_moments(kernel, weighted, RANGES).profile().figures().bias_bound < 1e-9


def test_spelled_out_it_is_least_squares_under_the_weights_of_each_group(kernel):
    rng = np.random.default_rng(5)
    weights, groups = rng.dirichlet(np.ones(SIZE), size=3), rng.integers(0, 3, len(MATRIX))
    decoder = WeightedDecoder(array_of(weights, "<f8"), array_of(groups, "<i4"))
    found, table = ndarray(expand_weighted(decoder, kernel, RANGES).matrix), probabilities(kernel)
    np.testing.assert_allclose(found @ table, MATRIX, atol=1e-12)
    noise = rng.normal(size=found.shape)
    noise -= (noise @ table) @ np.linalg.pinv(table)
    for query, group in enumerate(groups):
        masses = table @ weights[group]
        assert found[query] ** 2 @ masses < (found[query] + 0.1 * noise[query]) ** 2 @ masses
        # No unbiased change improves it: the slope along every one of them is zero.
        assert np.abs(noise[query] @ (masses * found[query])) < 1e-9 * np.abs(masses * found[query]).sum()


def test_other_decoders_are_left_as_they_are(kernel, minimax):
    assert expand_weighted(minimax, kernel, RANGES) is minimax


def test_what_does_not_fit_is_refused(kernel, weighted, monkeypatch):
    with pytest.raises(InvalidValue, match="finite kernels only"):
        expand_weighted(weighted, RandomizedResponse.for_guarantee(SIZE, PureEpsilon.of(1)), RANGES)
    with pytest.raises(InvalidValue, match="the workload has 11"):
        expand_weighted(weighted, kernel, builtin("prefix", SIZE))
    with pytest.raises(InvalidValue, match="groups 0 to"):
        replace(weighted, groups=array_of(ndarray(weighted.groups) + 1, "<i4"))
    with pytest.raises(InvalidValue, match="sum to 1"):
        replace(weighted, type_weights=array_of(1.001 * ndarray(weighted.type_weights), "<f8"))
    monkeypatch.setattr(module, "_LARGEST_ENTRIES", 100)
    with pytest.raises(InvalidValue, match="exceed the limit"):
        expand_weighted(weighted, kernel, RANGES)


def test_a_plan_ships_weights_where_its_matrix_would_be_large(monkeypatch):
    """The figures are those of what is shipped, the audit finds them again, and estimates are those of the matrix."""
    ranges = builtin("ranges", 6)
    matrix = ranges.operator.dense()
    request = PlanRequest(
        ranges, PlanningOptions.of(epsilon=1, objective="max", mechanism="optimised_kernel", effort=Effort.QUICK)
    )
    plain = compile_plan(request)
    monkeypatch.setattr(optimised_kernel, "_LARGEST_MATRIX", 1000)
    compact = compile_plan(request)
    assert isinstance(plain.analyst.decoder, AnswerDecoder)
    assert isinstance(compact.analyst.decoder, WeightedDecoder)
    assert compact.device == plain.device
    assert len(compact.analyst.content) < len(plain.analyst.content) / 3
    variance = compact.analyst.figures.max_variance
    assert variance <= plain.analyst.figures.max_variance * (1 + 2e-3)
    assert [check.name for check in audit_plan(compact.device, compact.analyst) if not check.holds] == []
    assert AnalystPart.read(compact.analyst.content) == compact.analyst
    counts = np.random.default_rng(2).multinomial(10**6, probabilities(compact.device.randomizer)[:, 4])
    answers = estimate(compact.device, compact.analyst, Aggregate(10**6, counts)).unbiased
    assert np.abs(answers - matrix[:, 4]).max() < 5 * np.sqrt(variance / 10**6)
    table = probabilities(compact.device.randomizer)
    rows = ndarray(expand_weighted(compact.analyst.decoder, compact.device.randomizer, ranges).matrix)
    assert variances(table, rows, matrix).max() == pytest.approx(variance, rel=1e-9)


def test_a_plan_ships_weights_however_early_it_is_stopped(monkeypatch):
    monkeypatch.setattr(optimised_kernel, "_LARGEST_MATRIX", 1000)
    options = PlanningOptions.of(epsilon=1, mechanism="optimised_kernel", effort=Effort.QUICK)
    plan = compile_plan(PlanRequest(builtin("ranges", 6), options), interrupted=lambda: True)
    assert plan.cut_short == "interrupted"
    assert isinstance(plan.analyst.decoder, WeightedDecoder)
    assert [check.name for check in audit_plan(plan.device, plan.analyst) if not check.holds] == []
