"""Statements about thresholds, intervals and boxes: moments from every report with its chance, and coverage."""

from functools import cache

import numpy as np
import pytest

from sordino_analysis.conformance.enumeration import payload_law
from sordino_analysis.estimation.concepts import ConceptEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, mean_accumulator
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from tests.kept_plans import compiled_once


def plan_of(bins, family="thresholds", epsilon="1", miss=1.0, mechanism=None):
    return compiled(bins, family, epsilon, miss, mechanism)


@cache
def compiled(bins, family, epsilon, miss, mechanism):
    domain = [{"name": f"x{n}", "kind": "ordinal", "edges": list(range(1, size))} for n, size in enumerate(bins)]
    domain.append({"name": "crashed", "kind": "categorical", "labels": ["no", "yes"]})
    asked = {"class": family, "label": {"attribute": "crashed", "positive": "yes"}, "cost": {"miss": miss}}
    workload = parse_specification({"name": "w", "domain": domain, "queries": asked}).build()
    return compiled_once(
        PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, mechanism=mechanism, effort="quick"))
    )


@cache
def estimator_of(*asked):
    return ConceptEstimator.of(plan_of(*asked).device, plan_of(*asked).analyst)


def reported(estimator, cells, seed):
    randomizer = estimator.estimator.device.randomizer
    payloads = randomize_many(randomizer, cells.astype(np.int64), SeededRandomness(seed))
    return Aggregate(len(cells), accumulate(randomizer, payloads))


@pytest.mark.parametrize(("bins", "family", "ratio"), [((8,), "thresholds", 1.0001), ((2, 3), "boxes", 1.001)])
def test_plans_come_near_the_certificate_by_sign_vectors(bins, family, ratio):
    plan = plan_of(bins, family)
    figures, certificate = plan.analyst.figures, plan.analyst.certificate
    assert plan.analyst.mechanism == "sign_vectors"
    assert certificate.max.value <= figures.max_variance <= ratio * certificate.max.value
    assert plan.summary.asks_rules
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))


@pytest.mark.parametrize(
    "asked",
    [
        ((4,), "thresholds", "1", 1.0, "sign_vectors"),
        ((2, 3), "boxes", "1", 1.0, "sign_vectors"),
        ((3,), "intervals", "2", 1.0, "optimised_kernel"),
        ((3,), "thresholds", "1", 5.0, "randomized_response"),
    ],
)
def test_moments_are_those_of_the_worst_type_and_of_every_type_for_sign_vectors(asked):
    estimator = estimator_of(*asked)
    randomizer, errors = estimator.estimator.device.randomizer, estimator.errors
    squares, apart = [], []
    for cell in range(estimator.estimator.workload.size):
        law = list(payload_law(randomizer, cell))
        sums = [accumulate(randomizer, np.frombuffer(payload, np.uint8)[None]) for payload, _ in law]
        means = (mean_accumulator(randomizer, Aggregate(1, each)) for each in sums)
        centred = np.stack([estimator.estimator.law.decode(mean) for mean in means]) - errors.constants
        chances = np.array([float(chance) for _, chance in law])
        squares.append(chances @ centred**2)
        apart.append(chances @ (centred - centred[:, [2]]) ** 2)
    assert np.allclose(np.max(squares, axis=0), errors.second_moments, rtol=1e-6)
    assert np.allclose(np.max(apart, axis=0), errors.differences(2, 1) ** 2, rtol=1e-6, atol=1e-12)
    if plan_of(*asked).analyst.mechanism == "sign_vectors":
        assert np.allclose(squares, errors.second_moments, rtol=1e-4)
        assert np.allclose(apart, errors.differences(2, 1) ** 2, rtol=1e-4, atol=1e-12)


def population(rng, users, bins, start, often):
    """Values spread evenly; who is at `start` or above has the label with chance `often`, others with 1 − `often`."""
    held = rng.integers(bins, size=users)
    return 2 * held + (rng.random(users) < np.where(held >= start, often, 1 - often))


def test_a_planted_threshold_is_found_and_its_loss_lies_in_the_band():
    """Standard errors of differences to the next thresholds are at most .006, those differences .075."""
    estimator = estimator_of((8,))
    found = estimator.estimate(reported(estimator, population(np.random.default_rng(3), 200_000, 8, 5, 0.8), 4))
    assert found.known.text(found.chosen) == "x0 > 5"
    assert found.beats_base
    assert found.statement == "x0 > 5 is the best of 16 rules, and beats never and always"
    assert found.band_low[found.chosen] <= 0.2 <= found.band_high[found.chosen]
    assert 0 <= found.excess < 0.05


def test_few_reports_have_bernsteins_band_and_say_so():
    estimator = estimator_of((8,))
    found = estimator.estimate(reported(estimator, np.array([0, 1, 5]), 2))
    assert "3 reports, fewer than the 8 cells" in found.warnings[0]
    assert len(found.best) == len(found.losses)


@pytest.mark.parametrize("often", [0.5, 0.6])
def test_statements_hold_in_300_campaigns(often):
    """Devices are drawn afresh. Each statement has 95 %: below 268 of 300 the chance is 10^-4."""
    estimator, rng = estimator_of((8,)), np.random.default_rng(5)
    shares = np.outer(np.full(8, 1 / 8), (1, 1)).ravel() * np.array([often, 1 - often] * 5 + [1 - often, often] * 3)
    truth = estimator.estimator.workload.operator.matvec(shares)
    held = {"band": 0, "best": 0, "excess": 0, "naive": 0}
    for seed in range(300):
        found = estimator.estimate(reported(estimator, population(rng, 3000, 8, 5, often), seed))
        held["band"] += bool(((found.band_low <= truth) & (truth <= found.band_high)).all())
        held["best"] += bool(truth[found.best].min() <= truth.min() + 1e-12)
        held["excess"] += bool(truth[found.chosen] - truth.min() <= found.excess)
        error = abs(found.losses[found.chosen] - truth[found.chosen])
        held["naive"] += bool(error <= 1.96 * found.standard_errors[found.chosen])
    print(held)
    assert min(held[name] for name in ("band", "best", "excess")) >= 268
    assert held["naive"] < held["band"]
