"""Hadamard response against the variance of its paper and of least squares."""

import numpy as np
import pytest

from sordino_analysis.mechanisms.hadamard_response import HadamardResponseMechanism
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.mechanisms.set_families import hadamard_blocks
from sordino_analysis.optimisation.search.objectives import variances
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin
from sordino_analysis.vectorized.arrays import ndarray
from sordino_analysis.vectorized.kernels import kernel_integers, kernel_table


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_the_papers_decoder_has_the_papers_variance(epsilon):
    """((e^ε + 1)/(e^ε − 1))² for users of another type and 4e^ε/(e^ε − 1)² for those of the type itself."""
    family, boost = hadamard_blocks(11, 1), np.exp(epsilon)
    decoder = 2 * (boost + 1) / (boost - 1) * (family.members.T - 0.5)
    kernel = family.kernel(epsilon)
    assert decoder @ kernel == pytest.approx(np.eye(11), abs=1e-12)
    found = variances(kernel, decoder, np.eye(11))
    assert np.diag(found) == pytest.approx(4 * boost / (boost - 1) ** 2)
    assert found[~np.eye(11, dtype=bool)] == pytest.approx(((boost + 1) / (boost - 1)) ** 2)


@pytest.mark.parametrize(("size", "epsilon"), [(3, "0.5"), (7, "0.5"), (15, "0.9")])
def test_least_squares_has_the_variance_of_its_information(plan_of, size, epsilon):
    """μ = (e^ε − 1)²/(2(e^ε + 1)(1 + (e^ε − 1)s/k)), s = (k − 1)/2, for every difference; so ((k−1)/μ + 1/k − 1)/k."""
    plan = plan_of("histogram", size, epsilon, "mean", "hadamard_response")
    boost = np.exp(float(epsilon))
    told = (boost - 1) ** 2 / (2 * (boost + 1) * (1 + (boost - 1) * (size - 1) / (2 * size)))
    expected = ((size - 1) / told + 1 / size - 1) / size
    figures = plan.analyst.figures
    assert figures.mean_variance == pytest.approx(expected, rel=1e-5)
    assert figures.mean_variance < ((boost + 1) / (boost - 1)) ** 2
    assert figures.bias_bound < 1e-12
    assert plan.summary.ratio_mean >= 1


@pytest.mark.parametrize(("epsilon", "sizes"), [("0.3", {32, 64}), ("2", {8, 16, 32}), ("3", {4, 8}), ("4", {2, 4})])
def test_blocks_are_smaller_at_a_larger_epsilon(epsilon, sizes):
    request = PlanRequest(builtin("prefix", 64), PlanningOptions.of(epsilon=epsilon, objective="mean"))
    found = HadamardResponseMechanism().propose(SharedWork(request), lambda *told: None)
    table = kernel_integers(found.randomizer.rows)
    held = (table > table.min(axis=1, keepdims=True)).sum(axis=1)
    assert held.max() in sizes
    assert len(table) <= 2 * 64


def test_figures_are_those_of_its_table_and_decoder(plan_of):
    plan = plan_of("prefix", 6, "1", "max", "hadamard_response")
    matrix, randomizer = plan.request.workload.operator.dense(), plan.device.randomizer
    kernel = kernel_table(randomizer).astype(float) / 2.0**randomizer.bits
    decoder = matrix @ ndarray(plan.analyst.decoder.matrix)
    assert decoder @ kernel == pytest.approx(matrix, abs=1e-9)
    found = np.einsum("qy,yx->qx", decoder**2, kernel) - matrix**2
    assert plan.analyst.figures.max_variance == pytest.approx(found.max(), rel=1e-9)
    assert plan.analyst.figures.mean_variance == pytest.approx(found.mean(axis=0).max(), rel=1e-9)


def test_where_it_does_not_apply_it_says_why():
    def reason(kind, size, mechanism="hadamard_response"):
        request = PlanRequest(builtin(kind, size), PlanningOptions.of(epsilon=1, objective="mean", mechanism=mechanism))
        return HadamardResponseMechanism().reason_against(SharedWork(request))

    assert reason("prefix", 2) == "with two types it is randomized response"
    assert reason("prefix", 1500) == "1500 types; its table is made for at most 1024"
    assert "best mixture of subset sizes" in reason("histogram", 9, None)
    assert reason("histogram", 9) is None
