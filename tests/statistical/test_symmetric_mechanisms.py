"""Mechanisms by symmetry from device to estimate: unbiased, of the variance published, inside their intervals.

Seeds are fixed. A right law would be refused once in 10⁴ choices of the seeds.
"""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom, norm

from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, mean_accumulator
from sordino_analysis.evaluation.variance import type_variances
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.randomizers import in_alphabet, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from tests.kept_plans import compiled_once

FALSE_ALARM = 1e-4
CASES = {
    "histogram": ((6,), "histogram", "max", "subset_mixture"),
    "marginals": ((2, 3, 2), {"kind": "marginals", "width": 2}, "max", "orbit_kernel"),
    "parities": ((2, 2, 2, 2), {"kind": "parities", "width": 2}, "mean", "orbit_kernel"),
}


@cache
def plan_of(name):
    shape, queries, objective, mechanism = CASES[name]
    domain = [
        {"name": f"a{i}", "kind": "categorical", "labels": [f"v{j}" for j in range(size)]}
        for i, size in enumerate(shape)
    ]
    workload = parse_specification({"name": name, "domain": domain, "queries": queries}).build()
    options = PlanningOptions.of(epsilon=2, objective=objective, mechanism=mechanism, effort=Effort.QUICK)
    return compiled_once(PlanRequest(workload, options))


@cache
def estimator_of(name):
    """What estimates of a plan have in common takes longer to work out than one of them."""
    return LinearEstimator.of(plan_of(name).device, plan_of(name).analyst)


def aggregate(randomizer, cells, seed):
    """The aggregate of one campaign; of the first one by way of two shards that are added up, too."""
    payloads = randomize_many(randomizer, cells, SeededRandomness(seed))
    assert in_alphabet(randomizer, payloads).all()
    if seed:
        return Aggregate(len(payloads), accumulate(randomizer, payloads))
    half = len(payloads) // 2
    shards = [Aggregate(len(part), accumulate(randomizer, part)) for part in (payloads[:half], payloads[half:])]
    whole = Aggregate(len(payloads), accumulate(randomizer, payloads))
    assert (shards[0] + shards[1]).to_bytes() == whole.to_bytes()
    assert mean_accumulator(randomizer, whole).shape == (randomizer.accumulator_size,)
    return whole


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "parities")) for name in CASES]
)
def test_estimates_of_one_type_have_its_answers_and_its_variances(name):
    plan, users, campaigns = plan_of(name), 200, 300
    exact = type_variances(plan.device, plan.analyst.decoder, plan.request.workload)
    for cell in (0, plan.request.workload.size - 2):
        cells = np.full(users, cell, dtype=np.int64)
        whole = [aggregate(plan.device.randomizer, cells, seed) for seed in range(campaigns)]
        found = np.array([estimator_of(name).unbiased(each) for each in whole])
        truth = plan.request.workload.operator.column(cell)
        errors = (found - truth) * np.sqrt(users)
        threshold = norm.isf(FALSE_ALARM / (2 * len(truth)))
        assert (np.abs(errors.mean(axis=0)) <= threshold * np.sqrt(exact[:, cell] / campaigns)).all()
        shifted = errors.mean(axis=0) + 0.1 * np.sqrt(users)
        assert (np.abs(shifted) > threshold * np.sqrt(exact[:, cell] / campaigns)).any()

        def accepted(variances, errors=errors, threshold=threshold):
            ratios = (errors**2 / variances).mean(axis=1)
            return abs(ratios.mean() - 1) <= threshold * ratios.std() / np.sqrt(campaigns)

        assert accepted(exact[:, cell])
        assert not accepted(1.35 * exact[:, cell])
        assert not accepted(0.7 * exact[:, cell])


@pytest.mark.parametrize(
    "name",
    [pytest.param("histogram", marks=pytest.mark.slow), pytest.param("marginals", marks=pytest.mark.slow), "parities"],
)
def test_intervals_hold_as_often_as_they_say(name):
    plan, campaigns, users = plan_of(name), 100, 1000
    size = plan.request.workload.size
    histogram = np.random.default_rng(1).dirichlet(np.ones(size))
    inside, bands = [], 0
    for seed in range(campaigns):
        cells = np.random.default_rng(seed).choice(size, users, p=histogram).astype(np.int64)
        found = estimator_of(name).estimate(aggregate(plan.device.randomizer, cells, seed))
        truth = plan.request.workload.truth(cells)
        inside.append(((found.lower <= truth) & (truth <= found.upper)).mean())
        bands += bool(((found.band_lower <= truth) & (truth <= found.band_upper)).all())
    # Queries of one campaign are correlated, so its intervals count as one trial.
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], campaigns, 0.95)
    assert low <= sum(inside) <= high
    assert bands >= low


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "parities")) for name in CASES]
)
def test_the_planner_takes_a_symmetric_mechanism_where_it_has_the_least_variance(name):
    """Of several mechanisms that it priced; the plans above leave it no choice."""
    *_, objective, mechanism = CASES[name]
    options = PlanningOptions.of(epsilon=2, objective=objective, effort=Effort.QUICK)
    plan = compiled_once(PlanRequest(plan_of(name).request.workload, options))
    variances = {
        report.name: getattr(report.figures, f"{objective}_variance")
        for report in plan.candidates
        if report.figures is not None
    }
    assert len(variances) >= 3
    assert plan.analyst.mechanism == mechanism
    assert getattr(plan.analyst.figures, f"{objective}_variance") == variances[mechanism] == min(variances.values())
