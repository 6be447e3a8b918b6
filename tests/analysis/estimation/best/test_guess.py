"""Best guesses of real plans: from tables of outputs, sets and grids, with and without a shuffler's reports."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import sordino_analysis as sa
from sordino_analysis.estimation.best import guess as guess_module
from sordino_analysis.estimation.best.average import BestGuess
from sordino_analysis.estimation.best.measured import MeasuredHistogram
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.planning.planner import CompiledPlan
from sordino_analysis.vectorized.randomizers import draw_blanket, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness

SHARES = np.array([0.05, 0.15, 0.3, 0.25, 0.15, 0.06, 0.03, 0.01])
USERS = 400


def _ratios(plan: CompiledPlan, blanket: int = 0, campaigns: int = 6) -> tuple[float, str]:
    """Squared error of best guesses over all campaigns as a share of that of unbiased answers, and their method."""
    randomizer, operator = plan.device.randomizer, plan.request.workload.operator
    held = np.repeat(np.arange(8), (SHARES * USERS).round().astype(int))
    truth, lost = operator.matvec(SHARES), np.zeros(2)
    for seed in range(campaigns):
        randomness = SeededRandomness(seed)
        sums = accumulate(randomizer, randomize_many(randomizer, held, randomness))
        if blanket:
            sums = sums + accumulate(randomizer, draw_blanket(randomizer, blanket, randomness))
        total = Aggregate(len(held) + blanket, sums)
        found = LinearEstimator.of(plan.device, plan.analyst).among(total, blanket).estimate(total)
        assert found.guess is not None
        assert (found.lower <= found.best + 1e-9).all()
        assert (found.best <= found.upper + 1e-9).all()
        assert (found.band_lower <= found.lower).all()
        assert (found.upper <= found.band_upper).all()
        lost += [((found.best - truth) ** 2).sum(), ((found.unbiased - truth) ** 2).sum()]
    return float(lost[0] / lost[1]), found.guess.method


@pytest.mark.parametrize(
    ("asked", "mechanism", "method"),
    [
        ("prefix", "haar", "expectation and maximisation"),
        ("ranges", "optimised_kernel", "expectation and maximisation"),
        ("prefix", "subset_selection", "average"),
        ("histogram", "subset_selection", None),
    ],
)
def test_best_guesses_have_less_error_than_unbiased_answers(plan_of, asked, mechanism, method) -> None:
    ratio, found = _ratios(plan_of(asked, 8, "1", mechanism=mechanism))
    assert ratio < 0.9
    assert method in (None, found)


def test_random_reports_of_a_shuffler_are_fitted_and_not_guessed_at(plan_of) -> None:
    """With 400 random reports of even types beside 400 users a fit to all reports would be drawn half way to even."""
    ratio, _ = _ratios(plan_of("prefix", 8, "1", mechanism="haar"), blanket=400)
    assert ratio < 0.9


def test_an_estimate_tells_how_its_best_guess_was_made() -> None:
    plan = sa.plan(sa.prefix(8), 1, mechanism="haar")
    held = np.repeat(np.arange(8), (SHARES * USERS).round().astype(int))
    reports = randomize_many(plan.device.randomizer, held, SeededRandomness(1))
    found = sa.estimate(plan, sa.aggregate(plan, reports))
    assert found.best_histogram is not None
    np.testing.assert_allclose(found.best, np.cumsum(found.best_histogram)[:7], atol=1e-9)
    assert [each["name"] for each in found.best_method] == [
        "projection",
        *(f"{steps} steps" for steps in (25, 50, 100, 200, 400, 800)),
    ]
    asked = found.answer("range", "1..3")[0]
    assert asked.best == pytest.approx(found.best_histogram[1:3].sum(), abs=1e-9)
    middle = found.answer("quantile", "0.5")[0]
    assert middle.value[0] == np.flatnonzero(np.cumsum(found.best_histogram) >= 0.5 - 1e-9)[0]


def test_a_guess_whose_shares_are_rounded_up_is_within_its_interval(plan_of) -> None:
    """Sums of shares of twelve digits go beyond 1, where ends are cut."""
    plan = plan_of("prefix", 8, "1", mechanism="subset_selection")
    held = np.zeros(USERS, dtype=int)
    sums = accumulate(plan.device.randomizer, randomize_many(plan.device.randomizer, held, SeededRandomness(1)))
    estimator, total = LinearEstimator.of(plan.device, plan.analyst), Aggregate(USERS, sums)
    nearest = estimator.nearest(estimator.unbiased(total), USERS)
    guess = BestGuess(np.eye(8)[0] * (1 + 1e-10), "average")
    found = estimator.estimate_among(nearest, total, 0.95, 7, 0.0, guess)
    assert (found.best <= found.upper).all()
    assert (found.upper <= found.band_upper).all()


def test_guesses_are_made_in_one_thread_and_are_the_same_again(plan_of, monkeypatch) -> None:
    plan, threads = plan_of("prefix", 8, "1", mechanism="subset_selection"), []
    held = np.repeat(np.arange(8), (SHARES * USERS).round().astype(int))
    sums = accumulate(plan.device.randomizer, randomize_many(plan.device.randomizer, held, SeededRandomness(1)))
    whole = guess_module.averaged

    def averaged(measured: MeasuredHistogram) -> BestGuess:
        threads.extend(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
        return whole(measured)

    monkeypatch.setattr(guess_module, "averaged", averaged)
    found = []
    for limit in (2, 1):
        with threadpool_limits(limits=limit, user_api="blas"):
            found.append(LinearEstimator.of(plan.device, plan.analyst).estimate(Aggregate(USERS, sums)).best)
    assert set(threads) == {1}
    assert found[0].tobytes() == found[1].tobytes()
