"""The papers' mechanism: its variance formula, its exact decoder, its reduction."""

import numpy as np
import pytest

from sordino_analysis.evaluation.randomizers.directions import DIRECTION_ERROR, half_sphere_mean
from sordino_analysis.mechanisms.factorization import direction_randomizer
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import builtin
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.audit import prove_epsilon
from sordino_shared.guarantees import PureEpsilon


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_the_variance_is_that_of_the_papers(plan_of, objective):
    """B²‖L_q‖²‖R‖²/d − (W − c)² with B = coth(ε/2)·√π Γ((d+1)/2)/Γ(d/2), to the precision of the integers."""
    plan = plan_of("prefix", 17, "0.7", objective, "factorization")
    factors, matrix = plan.analyst.factors, plan.request.workload.operator.dense()
    left, right, centre = (ndarray(a) for a in (factors.left, factors.right, factors.centre))
    dimension = len(left)
    width = 1 / (np.tanh(0.35) * half_sphere_mean(dimension))
    longest = (right**2).sum(axis=0).max()
    expected = width**2 * (left**2).sum(axis=0)[:, None] * longest / dimension - (matrix - centre[:, None]) ** 2
    assert plan.analyst.figures.max_variance == pytest.approx(expected.max(), rel=1e-6)
    assert plan.analyst.figures.mean_variance == pytest.approx(expected.mean(axis=0).max(), rel=1e-6)
    np.testing.assert_allclose(left.T @ right + centre[:, None], matrix, atol=1e-9)
    assert factors.transform is None


def test_the_decoder_is_unbiased_for_the_shipped_integers_but_for_what_directions_state(plan_of):
    plan = plan_of("prefix", 17, "0.7", "max", "factorization")
    randomizer, decoder = plan.device.randomizer, plan.analyst.decoder
    vectors = ndarray(randomizer.vectors).astype(float)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    sizes = 2 * ndarray(randomizer.keep_weights) / 2.0**randomizer.bits - 1
    means = (units * (sizes * half_sphere_mean(randomizer.dimension))[:, None]).T
    answers = ndarray(decoder.matrix) @ means + ndarray(decoder.offset)[:, None]
    np.testing.assert_allclose(answers, plan.request.workload.operator.dense(), atol=1e-10)
    longest = np.linalg.norm(means, axis=0).max()
    stated = DIRECTION_ERROR * longest * np.linalg.norm(ndarray(decoder.matrix), axis=1).max()
    assert plan.analyst.figures.bias_bound == pytest.approx(stated, rel=1e-6)


@pytest.mark.parametrize("epsilon", ["0.001", "1", "16"])
def test_keep_weights_are_symmetric_integers_within_epsilon(epsilon):
    right = np.array([[3.0, 1.0, 0.0], [4.0, 0.0, 0.0]])
    randomizer = direction_randomizer(right, PureEpsilon.of(epsilon))
    assert prove_epsilon(randomizer) <= PureEpsilon.of(epsilon)
    kept = ndarray(randomizer.keep_weights).astype(float) / 2.0**59 - 1
    np.testing.assert_allclose(kept / kept[0], [1.0, 0.2, 0.0], rtol=1e-9)
    assert ndarray(randomizer.keep_weights)[2] == 1 << 59
    assert not ndarray(randomizer.vectors)[2].any()


def test_a_reduction_is_biased_publishes_t_and_its_mean_squared_error_is_its_formula(plan_of):
    plan = plan_of("prefix", 33, "1", "max", "factorization", users=500, reduction=20, seed=3)
    factors = plan.analyst.factors
    transform, left, right = (ndarray(a) for a in (factors.transform, factors.left, factors.right))
    assert transform.shape == (20, len(left))
    assert plan.device.randomizer.dimension == 20
    distorted = left.T @ transform.T @ transform @ right + ndarray(factors.centre)[:, None]
    bias = np.abs(distorted - plan.request.workload.operator.dense()).max(axis=1)
    np.testing.assert_allclose(plan.profile.bias, bias, atol=2e-3)
    assert plan.analyst.figures.bias_bound > 0.1
    np.testing.assert_allclose(plan.profile.rmse(500), np.sqrt(plan.profile.variance / 500 + plan.profile.bias**2))


def test_a_biased_candidate_needs_a_number_of_users_to_be_compared_at():
    workload, terms = builtin("prefix", 9), {"epsilon": 1, "objective": "max", "reduction": 5, "effort": Effort.QUICK}
    with pytest.raises(PlanError, match="stated number of users only"):
        compile_plan(PlanRequest(workload, PlanningOptions.of(mechanism="factorization", **terms)))
    compared = compile_plan(PlanRequest(workload, PlanningOptions.of(users=10**7, **terms)))
    assert compared.analyst.mechanism != "factorization"


def test_a_reduction_to_everything_changes_no_figure(plan_of):
    whole = plan_of("prefix", 9, mechanism="factorization")
    rank = whole.device.randomizer.dimension
    reduced = plan_of("prefix", 9, mechanism="factorization", reduction=rank)
    assert reduced.analyst.figures.max_variance == pytest.approx(whole.analyst.figures.max_variance, rel=1e-6)


def test_a_reduction_beyond_the_rank_is_refused():
    with pytest.raises(ValueError, match="from 1 to the rank"):
        compile_plan(
            PlanRequest(
                builtin("prefix", 9),
                PlanningOptions.of(epsilon=1, objective="max", mechanism="factorization", reduction=99),
            )
        )
