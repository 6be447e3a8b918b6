"""Haar wavelets: their variance in closed form where coefficients are the queries, and any number of types."""

import numpy as np
import pytest

from sordino_analysis.mechanisms.haar import HaarMechanism
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_analysis.vectorized.kernels import kernel_integers


def coefficients(size):
    """Left minus right half of every node of a binary tree, level by level."""
    rows, width = [], size
    while width > 1:
        step = np.concatenate([np.ones(width // 2), -np.ones(width // 2)])
        rows.append(np.kron(np.eye(size // width), step))
        width //= 2
    return np.vstack(rows)


def request_of(rows, epsilon, objective):
    line = {"name": "v", "kind": "ordinal", "edges": [float(edge) for edge in range(1, len(rows[0]))]}
    specification = {"name": "rows", "domain": [line], "queries": {"matrix": rows.tolist()}}
    return PlanRequest(
        parse_specification(specification).build(), PlanningOptions.of(epsilon=epsilon, objective=objective)
    )


@pytest.mark.parametrize("epsilon", ["0.1", "0.4"])
def test_coefficients_have_the_variance_of_randomized_signs(epsilon):
    """A level with n nodes and chance p gives 1/(p t²) − [x in the node], t = tanh(ε/2); so p ∝ √n for the mean."""
    rows, t = coefficients(16), np.tanh(float(epsilon) / 2)
    request = request_of(rows, epsilon, "mean")
    found = HaarMechanism().propose(SharedWork(request), lambda *told: None)
    roots = np.sqrt([1, 2, 4, 8])
    assert found.variance(request) == pytest.approx((roots.sum() ** 2 / t**2 - 4) / 15, rel=1e-5)
    worst = request_of(rows, epsilon, "max")
    found = HaarMechanism().propose(SharedWork(worst), lambda *told: None)
    assert found.variance(worst) == pytest.approx(4 / t**2, rel=1e-2)


@pytest.mark.parametrize("epsilon", ["0.001", "0.5", "4", "16"])
@pytest.mark.parametrize(("kind", "size"), [("prefix", 3), ("histogram", 7), ("ranges", 6), ("prefix", 37)])
def test_it_is_unbiased_at_every_epsilon(kind, size, epsilon):
    request = PlanRequest(builtin(kind, size), PlanningOptions.of(epsilon=epsilon, objective="mean"))
    figures = HaarMechanism().propose(SharedWork(request), lambda *told: None).law(request).profile().figures()
    assert figures.bias_bound <= 1e-11 * np.sqrt(figures.max_variance) + 1e-9


@pytest.mark.parametrize(("epsilon", "worst_share"), [("0.25", 0.55), ("1", 0.3), ("4", 0.05)])
def test_sets_are_smaller_at_a_larger_epsilon(epsilon, worst_share):
    """On the finest level, where blocks are free, a set holds about 1/(e^ε + 1) of the types."""
    request = PlanRequest(builtin("prefix", 64), PlanningOptions.of(epsilon=epsilon, objective="mean"))
    table = kernel_integers(HaarMechanism().propose(SharedWork(request), lambda *told: None).randomizer.rows)
    shares = (table > table.min(axis=1, keepdims=True)).mean(axis=1)
    assert shares.min() <= worst_share
    assert len(table) <= 2 * 63


def test_two_types_are_left_to_randomized_response():
    with pytest.raises(PlanError, match="it is randomized response"):
        compile_plan(
            PlanRequest(builtin("prefix", 2), PlanningOptions.of(epsilon=1, objective="max", mechanism="haar"))
        )
