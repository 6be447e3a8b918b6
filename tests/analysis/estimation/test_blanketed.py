"""Estimates from the reports of users and a shuffler's random ones: right for the true blanket, wrong for another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm

import sordino_analysis as sa
from sordino_analysis.analyst.plans import Plan
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.blanketed import BlanketedMoments
from sordino_analysis.estimation.linear import EstimationError, LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.kinds.drawn_rounds import randomized
from sordino_analysis.vectorized.randomizers import draw_blanket, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness

RUNS, USERS = 400, 500
# Of all answers of a test together; seeds are fixed.
FALSE_ALARM = 1e-6
SHARES = np.array([0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.0])


@pytest.fixture(scope="module", params=["haar", "subset_selection"])
def plan(request: pytest.FixtureRequest) -> Plan:
    """Prefix sums by a table, a histogram by sets, both hidden by some 200 random reports."""
    asked = sa.prefix(8) if request.param == "haar" else sa.histogram(8)
    return sa.plan(asked, 4, mechanism=request.param, collector=(1, "1e-6"), target_error=0.03)


def _cells() -> np.ndarray:
    return np.repeat(np.arange(8), (SHARES * USERS).astype(int))


def _errors(plan: Plan, subtracted: int, cells: np.ndarray | None = None) -> Floats:
    """(runs, Q) unbiased answers less the truth, `subtracted` random reports for those that were added.

    Those that are added are of a uniform type, or of the given `cells`.
    """
    assert plan.blanket is not None
    randomizer, randomness = plan.device.randomizer, SeededRandomness(11)
    truth = plan.workload.operator.matvec(SHARES)
    found = []
    for _ in range(RUNS):
        payloads = randomize_many(randomizer, _cells(), randomness)
        random = (
            draw_blanket(randomizer, plan.blanket.reports, randomness)
            if cells is None
            else randomize_many(randomizer, cells, randomness)
        )
        sums = accumulate(randomizer, payloads) + accumulate(randomizer, random)
        total = Aggregate(len(payloads) + len(random), sums)
        estimator = LinearEstimator.of(plan.device, plan.analyst).among(total, subtracted)
        found.append(estimator.unbiased(total) - truth)
    return np.array(found)


def _predicted(plan: Plan) -> Floats:
    """(Q,) the exact standard errors of these users."""
    assert plan.blanket is not None
    law = LinearEstimator.of(plan.device, plan.analyst).law
    return np.asarray(np.sqrt(BlanketedMoments(law, USERS, plan.blanket.reports).mixed_variances(SHARES) / USERS))


def _is_unbiased(plan: Plan, errors: Floats) -> bool:
    z = np.abs(errors.mean(axis=0)) / (_predicted(plan) / np.sqrt(RUNS))
    return bool((z <= norm.isf(FALSE_ALARM / 2 / errors.shape[1])).all())


def test_answers_have_the_exact_error_of_users_and_random_reports(plan: Plan) -> None:
    errors = _errors(plan, plan.blanket.reports if plan.blanket else 0)
    assert _is_unbiased(plan, errors)
    ratios = errors / _predicted(plan)
    # One standard deviation of the mean square of so many runs is .07; over all answers together less.
    assert np.sqrt((ratios**2).mean()) == pytest.approx(1, abs=0.06)


def test_another_number_of_random_reports_is_refused(plan: Plan) -> None:
    assert plan.blanket is not None
    assert not _is_unbiased(plan, _errors(plan, plan.blanket.reports * 9 // 10))
    assert not _is_unbiased(plan, _errors(plan, plan.blanket.reports * 11 // 10))


def test_a_blanket_of_another_law_is_refused(plan: Plan) -> None:
    assert plan.blanket is not None
    ones = np.zeros(plan.blanket.reports, dtype=np.int64)
    assert not _is_unbiased(plan, _errors(plan, plan.blanket.reports, ones))


def test_intervals_and_bands_hold_the_truth(plan: Plan) -> None:
    values = np.repeat(np.arange(8) + 0.5, (SHARES * USERS).astype(int))
    runs = [sa.simulate(plan, values, seed=seed) for seed in range(25)]
    inside = np.array([run.inside for run in runs])
    queries = plan.workload.queries
    # Answers of one run err together: at worst all of them, as one.
    assert inside.mean() >= binom.ppf(1e-3, len(runs), 0.95) / len(runs)
    held = [(run.estimate.band[:, 0] <= run.truth) & (run.truth <= run.estimate.band[:, 1]) for run in runs]
    assert sum(map(np.all, held)) >= binom.ppf(1e-3, len(runs), 0.95)
    assert runs[0].estimate.users == USERS
    assert inside.shape == (len(runs), queries)


def test_questions_are_answered_with_the_blanket_subtracted(plan: Plan) -> None:
    values = np.repeat(np.arange(8) + 0.5, (SHARES * USERS).astype(int))
    run = sa.simulate(plan, values, seed=3)
    (found,) = run.estimate.answer("cell", "0.5")
    assert found.band[0] <= 0.4 <= found.band[1]


def test_without_reports_of_devices_there_is_no_estimate(plan: Plan) -> None:
    assert plan.blanket is not None
    total = Aggregate(plan.blanket.reports, np.zeros(plan.device.randomizer.accumulator_size, dtype=np.int64))
    with pytest.raises(EstimationError, match="no device's report is left"):
        sa.estimate(plan, total, blanket=plan.blanket.reports)


def test_without_a_blanket_nothing_changes(plan: Plan) -> None:
    codes = _cells()[:, None].astype(np.uint64)
    total = randomized(plan.device, codes, SeededRandomness(1))
    plain = Plan(plan.device, replace(plan.analyst, blanket=None))
    assert (sa.estimate(plan, total).uncut == sa.estimate(plain, total).uncut).all()
