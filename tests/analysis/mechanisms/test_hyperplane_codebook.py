"""The codebook: near its prototype, a function of its seed, and never short of a column."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.mechanisms import hyperplane_codebook
from sordino_analysis.mechanisms.tuning import CODEBOOK
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import builtin
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.kernels import kernel_integers


def test_prefix_128_is_near_the_prototype_in_half_its_bytes(plan_of):
    """14.8 for the mean and 18.7 for the maximum at ε = 1 with 4096 rows, of which 64 KiB hold half."""
    worst = plan_of("prefix", 128, "1", "max", "hyperplane_codebook")
    assert worst.analyst.figures.max_variance < 20.4
    mean = plan_of("prefix", 128, "1", "mean", "hyperplane_codebook")
    assert mean.analyst.figures.mean_variance < 16.1
    assert worst.device.randomizer.accumulator_size > 1900
    assert len(worst.device.content) <= 1 << 16


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(plan_of):
    request = {"mechanism": "hyperplane_codebook", "effort": Effort.QUICK}
    first = plan_of("prefix", 12, **request)
    again = compile_plan(PlanRequest(builtin("prefix", 12), PlanningOptions.of(epsilon=1, objective="max", **request)))
    assert (first.device.digest, first.analyst.digest) == (again.device.digest, again.analyst.digest)
    assert plan_of("prefix", 12, seed=1, **request).device.digest != first.device.digest


@pytest.mark.parametrize("epsilon", ["0.001", "0.5", "4", "16"])
@pytest.mark.parametrize(("kind", "size"), [("prefix", 2), ("histogram", 7), ("ranges", 6)])
def test_it_is_unbiased_at_every_epsilon(plan_of, kind, size, epsilon):
    plan = plan_of(kind, size, epsilon, "mean", "hyperplane_codebook")
    assert plan.analyst.figures.bias_bound <= 1e-12 * np.sqrt(plan.analyst.figures.max_variance)


def test_a_type_at_the_centre_of_the_geometry_gets_its_own_rows(plan_of):
    """Its vector is zero and no half-space holds it, so half-spaces alone cannot balance its column."""
    plan = plan_of("matrix", 3, mechanism="hyperplane_codebook", rows=((1.0, -1.0, 0.0),))
    table = kernel_integers(plan.device.randomizer.rows)
    assert (table.argmax(axis=1) == 2).any()
    assert plan.analyst.figures.bias_bound < 1e-10


def test_types_that_no_query_tells_apart_are_no_trouble(plan_of):
    plan = plan_of("matrix", 4, mechanism="hyperplane_codebook", rows=((0.0, 0.0, 1.0, 2.0), (1.0, 1.0, 0.0, 0.0)))
    assert plan.analyst.figures.bias_bound < 1e-9


def test_what_cannot_be_balanced_is_a_reason_and_not_a_crash(monkeypatch):
    def fails(*arguments):
        raise ValueError("no way")

    monkeypatch.setattr(hyperplane_codebook, "balanced_weights", fails)
    terms = {"epsilon": 1, "objective": "max", "effort": Effort.QUICK}
    plan = compile_plan(PlanRequest(builtin("prefix", 6), PlanningOptions.of(**terms)))
    report = next(report for report in plan.candidates if report.name == "hyperplane_codebook")
    assert not report.applies
    assert "no way" in report.reason
    only = PlanningOptions.of(mechanism="hyperplane_codebook", **terms)
    with pytest.raises(PlanError, match="no way"):
        compile_plan(PlanRequest(builtin("prefix", 6), only))


def test_type_weights_raised_where_the_variance_is_are_worth_their_time(plan_of, monkeypatch):
    raised = plan_of("prefix", 24, "2", "max", "hyperplane_codebook").analyst.figures.max_variance
    monkeypatch.setattr(hyperplane_codebook, "CODEBOOK", replace(CODEBOOK, most_reweightings=0))
    terms = {"objective": "max", "mechanism": "hyperplane_codebook", "effort": Effort.QUICK}
    request = PlanRequest(builtin("prefix", 24), PlanningOptions.of(epsilon=2, **terms))
    assert raised < 0.99 * compile_plan(request).analyst.figures.max_variance
