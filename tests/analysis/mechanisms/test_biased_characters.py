"""Wide rules at a few users: the least mean squared error of its kind, and a bias that is exact and allowed for."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.references.approximate_conjunctions import best_bias
from sordino_analysis.conformance.enumeration import payload_law
from sordino_analysis.estimation.concept_errors import CharacterErrors
from sordino_analysis.estimation.concepts import ConceptEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, mean_accumulator
from sordino_analysis.optimisation.symmetry.row_spectrum import RowSpectrum
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.randomizers import randomize_codes
from sordino_analysis.vectorized.randomness import SeededRandomness


@cache
def plan_of(indicators, width, users, mechanism="biased_characters", family="conjunctions", bias="allowed", miss=1.0):
    names = [*(f"a{number}" for number in range(indicators)), "crashed"]
    domain = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in names]
    asked = {
        "class": family,
        "width": width,
        "exactly": True,
        "label": {"attribute": "crashed", "positive": "on"},
        "cost": {"miss": miss},
    } | ({} if bias is None else {"bias": bias})
    workload = parse_specification({"name": "wide", "domain": domain, "queries": asked}).build()
    return compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1, users=users, mechanism=mechanism)))


@pytest.mark.parametrize(("indicators", "width", "users"), [(7, 4, 3_000), (9, 3, 2_000), (6, 6, 1_000)])
def test_the_shipped_plan_is_the_linear_program_at_its_best_bias(indicators, width, users):
    """Their objectives differ in the sampling of users, (1 − α)²/4n, which is not drawn from what is compared."""
    plan, best = plan_of(indicators, width, users), best_bias(indicators, width, 1.0, users)
    figures = plan.analyst.figures
    assert figures.bias_bound > 0.01
    assert figures.max_variance / users + figures.bias_bound**2 == pytest.approx(
        best.loss_error(1.0, users) ** 2, rel=2e-3
    )
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))


@pytest.mark.parametrize(("family", "miss"), [("conjunctions", 1.0), ("juntas", 1.0), ("clauses", 3.0)])
def test_moments_and_bias_are_those_of_the_law_of_reports(family, miss):
    """From every payload with its chance: means within the stated bias, exact squares of losses and differences."""
    plan = plan_of(2, 2, 12, family=family, miss=miss)
    estimator, randomizer = ConceptEstimator.of(plan.device, plan.analyst), plan.device.randomizer
    errors, truth = estimator.errors, plan.request.workload.operator.dense()
    assert isinstance(errors, CharacterErrors)
    largest = np.zeros(len(truth))
    for cell in (0, 3, 7):
        law = list(payload_law(randomizer, cell))
        sums = [accumulate(randomizer, np.frombuffer(payload, np.uint8)[None]) for payload, _ in law]
        decoded = np.stack(
            [estimator.estimator.law.decode(mean_accumulator(randomizer, Aggregate(1, each))) for each in sums]
        )
        chances = np.array([float(chance) for _, chance in law])
        largest = np.maximum(largest, np.abs(chances @ decoded - truth[:, cell]))
        centred = decoded - errors.constants
        assert np.allclose(chances @ centred**2, errors.second_moments, rtol=1e-6)
        for rule in (0, 3):
            apart = chances @ (centred - centred[:, [rule]]) ** 2
            assert np.allclose(apart, errors.differences(rule, 1) ** 2, atol=1e-6 * errors.second_moments.max())
    assert (largest <= estimator.biases + 1e-6).all()
    assert largest.max() == pytest.approx(estimator.biases.max(), abs=1e-6)
    assert estimator.biases.max() == pytest.approx(plan.analyst.figures.bias_bound)
    assert plan.analyst.figures.bias_bound > 0.01


def test_figures_of_rows_of_one_character_are_those_of_all_their_placements():
    """What single characters allow as a sum, and rows of one row for all its shifts, by the sums over placements."""
    plan = plan_of(4, 3, 60, family="juntas")
    law = ConceptEstimator.of(plan.device, plan.analyst).estimator.law
    slow = replace(law, spectrum=RowSpectrum(plan.device.randomizer))
    slow.spectrum.__dict__["single"] = np.zeros(len(slow.spectrum.chances), dtype=bool)
    for number, block in enumerate(law.operator.blocks):
        variances, biases = law._by_block[number]
        for row in range(min(4, len(block.table))):
            variance, bias = slow._law(number, len(block.table) - 1 - row)
            assert np.allclose(variance, variances[-1 - row], rtol=1e-9)
            assert bias == pytest.approx(biases[-1 - row], abs=1e-9)


def test_band_set_and_excess_are_widened_by_the_bias_and_the_statement_says_so():
    plan = plan_of(5, 4, 2_000)
    estimator, randomizer = ConceptEstimator.of(plan.device, plan.analyst), plan.device.randomizer
    codes = np.random.default_rng(1).integers(0, 2, (2_000, 6)).astype(np.uint64)
    payloads = randomize_codes(randomizer, codes, plan.device.domain.shape, SeededRandomness(2))
    aggregate = Aggregate(len(codes), accumulate(randomizer, payloads))
    found = estimator.estimate(aggregate)
    plain = ConceptEstimator(estimator.known, estimator.estimator, estimator.errors, np.zeros(len(found.losses)))
    narrow = plain.estimate(aggregate)
    assert found.bias_bound == pytest.approx(plan.analyst.figures.bias_bound)
    assert np.allclose(found.band_high - narrow.band_high, estimator.biases)
    assert np.allclose(narrow.band_low - found.band_low, estimator.biases)
    assert found.excess > narrow.excess
    assert set(narrow.best.tolist()) <= set(found.best.tolist())
    assert f"have a bias of {found.bias_bound:.3g} at most, which this allows for" in found.statement
    assert "bias" not in narrow.statement


def test_so_few_users_that_answers_would_ignore_the_reports_get_an_unbiased_plan():
    """At ε = .001 a report of a single user is worth less than the constant: no share is worth its noise."""
    asked = plan_of(2, 2, 12).request.workload
    with pytest.raises(PlanError, match="ignore the reports: state more users"):
        compile_plan(PlanRequest(asked, PlanningOptions.of(epsilon="0.001", users=1, mechanism="biased_characters")))
    plan = compile_plan(PlanRequest(asked, PlanningOptions.of(epsilon="0.001", users=1)))
    assert plan.analyst.mechanism != "biased_characters"


def test_a_class_is_answered_with_a_bias_only_where_that_was_said():
    """At 2,000 users the planner's own choice is the biased one."""
    chosen = plan_of(11, 4, 2_000, mechanism=None)
    assert chosen.analyst.mechanism == "biased_characters"
    unasked = plan_of(11, 4, 2_000, mechanism=None, bias=None)
    assert unasked.analyst.figures.bias_bound < 1e-9
    reasons = {candidate.name: candidate.reason for candidate in unasked.candidates}
    assert "write `bias: allowed`" in reasons["biased_characters"]
    assert "write `bias: allowed`" in reasons["approximate_factorization"]
    without_users = plan_of(11, 4, None, mechanism=None)
    reasons = {candidate.name: candidate.reason for candidate in without_users.candidates}
    assert "at a stated number of users only" in reasons["biased_characters"]
