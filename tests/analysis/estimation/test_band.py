"""The band of all answers, against campaigns drawn through the counts of outputs."""

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.coverage.campaigns import aggregates, shares
from sordino_analysis.estimation import band
from sordino_analysis.estimation.intervals import independent_quantile, normal_quantile
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.variance import type_variances
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.request_terms import Effort
from tests.kept_plans import compiled_once

USERS, CAMPAIGNS = 200, 1500
# The chance that a right quantile is refused on either side; seeds are fixed, so it is not refused at all.
FALSE_ALARM = 1e-4


def largest_errors(plan, law, users=USERS):
    """For each campaign the largest error in its own standard errors at the true histogram, and its estimate's band."""
    estimator, histogram = LinearEstimator.of(plan.device, plan.analyst), shares(law, plan.request.workload.size)
    operator, found = plan.request.workload.operator, []
    by_type = type_variances(plan.device, plan.analyst.decoder, plan.request.workload)
    drawn = list(aggregates(plan.device.randomizer, histogram, users, CAMPAIGNS, seed=3))
    made = estimator.estimate(drawn[0][1])
    for held, aggregate in drawn:
        answers = estimator.unbiased(aggregate)
        errors = np.abs(answers - operator.matvec(held / users))
        found.append((errors / np.sqrt(by_type @ (held / users) / users)).max())
    return np.array(found), made.reliability.band


@pytest.mark.parametrize(
    ("kind", "mechanism", "epsilon"),
    [
        ("histogram", "randomized_response", "1"),
        # Seven hundredths of a report of noise a type: normal quantiles held .45 to .90.
        ("histogram", "randomized_response", "8"),
        # The noise of the histogram made its answers look more correlated than they are: the band held .87.
        ("histogram", "hadamard_response", "8"),
        ("prefix", "factorization", "1"),
        ("ranges", "subset_selection", "4"),
    ],
)
@pytest.mark.parametrize("law", ["uniform", "one type"])
def test_all_errors_stay_within_the_quantile_as_often_as_it_says(plan_of, kind, mechanism, epsilon, law):
    """Steps of a few events leave no quantile that is met exactly: there errors may stay within it more often."""
    errors, found = largest_errors(plan_of(kind, 8, epsilon, mechanism=mechanism), law)
    assert found.holds
    held = int((errors <= found.quantile).sum())
    assert held >= binom.ppf(FALSE_ALARM, CAMPAIGNS, 0.945)
    if epsilon == "1":
        assert held <= binom.ppf(1 - FALSE_ALARM, CAMPAIGNS, 0.955)


def test_users_of_one_type_stay_within_the_quantile_though_noise_hides_that_they_are(plan_of):
    """50 users of one type of 16 at ε = 1 look spread evenly. The quantile for even users held .91 of their errors."""
    plan = plan_of("histogram", 16, "1", mechanism="randomized_response")
    for law in ("one type", "half and half", "uniform"):
        errors, found = largest_errors(plan, law, users=50)
        assert int((errors <= found.quantile).sum()) >= binom.ppf(FALSE_ALARM, CAMPAIGNS, 0.945)


@pytest.mark.parametrize("level", [0.999, 1 - 1e-6])
def test_bands_of_levels_that_no_campaigns_tell_reach_as_far_as_a_few_events(plan_of, level):
    """A type that nobody holds is hit by binomial noise, whose tail is known; 5,000 campaigns end before it."""
    plan = plan_of("histogram", 8, "8", mechanism="randomized_response")
    estimator, held = LinearEstimator.of(plan.device, plan.analyst), shares("one type", 8)
    ((users_of, aggregate),) = aggregates(plan.device.randomizer, held, USERS, 1, seed=2)
    found = estimator.estimate(aggregate, level)
    chance = 1 / (np.exp(8) + 7)
    hits = binom.isf((1 - level) / 8, USERS, chance)
    # What a hit adds is 1/(p − q), as is the spread of the noise.
    errors = (hits - USERS * chance) / np.sqrt(USERS * chance * (1 - chance))
    assert found.reliability.band.quantile >= errors
    empty = int(np.flatnonzero(users_of == 0)[0])
    assert found.band_upper[empty] - found.unbiased[empty] >= hits * 0.99 / USERS


def shares_of_attributes(attributes, width, epsilon):
    domain = [{"name": f"a{i}", "kind": "categorical", "labels": ["no", "yes"]} for i in range(attributes)]
    queries = {"kind": "marginals", "width": width, "exactly": True}
    workload = parse_specification({"name": "shares", "domain": domain, "queries": queries}).build()
    return compiled_once(PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, effort=Effort.QUICK)))


@pytest.mark.parametrize("epsilon", ["1", pytest.param("4", marks=pytest.mark.slow)])
def test_the_band_of_marginals_counts_answers_that_go_together_once(epsilon):
    """The two shares of an attribute have errors that are each other's negatives: as independent ones they held .97."""
    errors, found = largest_errors(shares_of_attributes(6, 1, epsilon), "zipf", users=1000)
    assert found.holds
    held = int((errors <= found.quantile).sum())
    assert binom.ppf(FALSE_ALARM, CAMPAIGNS, 0.945) <= held <= binom.ppf(1 - FALSE_ALARM, CAMPAIGNS, 0.955)


def test_a_band_that_cannot_be_worked_out_is_doubted(plan_of, monkeypatch):
    plan = plan_of("histogram", 16, "8", mechanism="randomized_response")
    estimator = LinearEstimator.of(plan.device, plan.analyst)
    (_, aggregate), *_ = aggregates(plan.device.randomizer, shares("uniform", 16), USERS, 1, seed=1)

    def doubts():
        return [text for text in estimator.estimate(aggregate).warnings if "band" in text]

    assert not doubts()
    monkeypatch.setattr(band, "_MOST_COUNTS", 1000)
    assert len(doubts()) == 1


def test_the_band_of_grids_takes_their_exact_covariance(plan_of):
    """Of 63 prefix sums Šidák's is 3.35 standard errors; their own is less, and holds all as often as it says."""
    plan, campaigns = plan_of("prefix", 64, "1", mechanism="shifted_grids"), 150
    histogram = np.append(0.5, np.full(63, 0.5 / 63))
    estimator = LinearEstimator.of(plan.device, plan.analyst)
    by_type, operator = estimator.law.type_variances(), estimator.workload.operator
    drawn = list(aggregates(plan.device.randomizer, histogram, 20_000, campaigns, seed=3))
    quantile = estimator.estimate(drawn[0][1]).reliability.band.quantile
    assert normal_quantile(0.95) < quantile < independent_quantile(0.95, 63) - 0.02
    held = 0
    for users_of, aggregate in drawn:
        errors = np.abs(estimator.unbiased(aggregate) - operator.matvec(users_of / 20_000))
        held += (errors <= quantile * np.sqrt(by_type @ (users_of / 20_000) / 20_000)).all()
    assert held >= binom.ppf(FALSE_ALARM, campaigns, 0.945)
