"""A look behind a shuffler: m random reports are subtracted in each arm with their variance, and no other number."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.experiments.looking import ExperimentDesign, look, planned_information
from sordino_analysis.experiments.looks import Looks
from sordino_analysis.vectorized.randomizers import draw_blanket, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Arm

RUNS = 400
USERS = (600, 200)
SHARES = (0.5, 0.5)


@pytest.fixture(scope="module")
def plan() -> sa.Plan:
    return sa.plan(sa.histogram(4), epsilon=4, collector=(1, 1e-6), target_error=0.03, mechanism="randomized_response")


def design_of(plan: sa.Plan) -> ExperimentDesign:
    from sordino_analysis.estimation.linear import LinearEstimator

    label = LinearEstimator.of(plan.device, plan.analyst).workload.labels()[0]
    arms = (Arm("A", 3 * 2**14), Arm("B", 2**14))
    terms = {"primary": label, "looks": Looks.END, "days": 2, "users": sum(USERS), "spread": 0.5, "level": 0.95}
    return ExperimentDesign(arms=arms, **terms)


def reported(plan: sa.Plan, users: int, blanket: int, randomness: SeededRandomness, types: np.random.Generator):
    randomizer = plan.device.randomizer
    held = (types.random(users) < 0.5).astype(np.int64)
    random = draw_blanket(randomizer, blanket, randomness)
    payloads = np.concatenate([randomize_many(randomizer, held, randomness), random])
    return Aggregate(len(payloads), accumulate(randomizer, payloads))


def looks_of(plan: sa.Plan, sent: int, subtracted: int) -> list[dict]:
    design, randomness, types = design_of(plan), SeededRandomness(31), np.random.default_rng(31)
    found = []
    for _ in range(RUNS):
        arms = [reported(plan, users, sent, randomness, types) for users in USERS]
        found.append(look(design, plan.device, plan.analyst, arms, [], ended=True, blanket=subtracted))
    return found


def deviations(looks: list[dict]) -> np.ndarray:
    ones = [each["comparisons"][0] for each in looks]
    return np.array([one["value"] / one["standard_error"] for one in ones])


def test_null_experiments_alarm_as_rarely_as_stated(plan: sa.Plan) -> None:
    """400 experiments without a difference: .05 of them find one, all within 4.5 standard errors of what is stated."""
    assert plan.blanket is not None
    m = plan.blanket.reports
    looks = looks_of(plan, m, m)
    assert [arm["reports"] for arm in looks[0]["arms"]] == list(USERS)
    alarms = np.mean([one["comparisons"][0]["verdict"] != "undecided" for one in looks])
    assert abs(alarms - 0.05) < 4.5 * math.sqrt(0.05 * 0.95 / RUNS)
    scaled = deviations(looks)
    assert abs(scaled.mean()) < 4.5 / math.sqrt(RUNS)
    # χ² of 400 degrees: the variance is the stated one.
    assert abs((scaled**2).mean() - 1) < 4.5 * math.sqrt(2 / RUNS)


def test_a_blanket_that_is_not_subtracted_shows(plan: sa.Plan) -> None:
    """It pulls both arms to the uniform law, the smaller one farther: a difference where there is none."""
    assert plan.blanket is not None
    scaled = deviations(looks_of(plan, plan.blanket.reports, 0))
    assert abs(scaled.mean()) > 4.5 / math.sqrt(RUNS)


def test_what_is_planned_counts_the_noise_of_random_reports(plan: sa.Plan) -> None:
    """(n v + m s)/n² of each arm, by hand."""
    from sordino_analysis.estimation.linear import LinearEstimator
    from sordino_analysis.experiments.looking import planned_noise

    assert plan.blanket is not None
    design, estimator = design_of(plan), LinearEstimator.of(plan.device, plan.analyst)
    noise, m = planned_noise(design, estimator), plan.blanket.reports
    added = m * float(estimator.law.blanket().variance[0])
    expected = 1 / sum(noise / n + added / n**2 for n in USERS)
    assert planned_information(design, estimator, m) == pytest.approx([expected])
    assert planned_information(design, estimator)[0] > 1.05 * expected


def test_an_arm_of_random_reports_alone_has_no_users(plan: sa.Plan) -> None:
    assert plan.blanket is not None
    m, randomness, types = plan.blanket.reports, SeededRandomness(5), np.random.default_rng(5)
    arms = [reported(plan, users, m, randomness, types) for users in (300, 0)]
    found = look(design_of(plan), plan.device, plan.analyst, arms, [], ended=True, blanket=m)
    assert [arm["reports"] for arm in found["arms"]] == [300, 0]
    assert found["comparisons"] == []


def test_users_for_a_difference_count_the_random_reports(plan: sa.Plan) -> None:
    """Of 400 simulated experiments as large as that, .8 ± 4.5 standard errors find it; without m it would be fewer."""
    label = design_of(plan).primary
    design = sa.experiment(plan, label, daily=400, days=2, looks="end")
    difference = 0.12
    users = design.users(difference)
    noise, random = design._noise
    assert (1 / 0.5) * 2 * noise / users + 8 * random / users**2 == pytest.approx((difference / 2.8016) ** 2, rel=1e-3)
    sized = sa.experiment(plan, label, daily=users, days=1, looks="end")
    found = sized.simulate(np.repeat([1, 2], 50), seed=4, effect=difference, runs=RUNS)
    assert abs(len(found.days) / RUNS - 0.8) < 4.5 * math.sqrt(0.8 * 0.2 / RUNS)
    null = sized.simulate(np.repeat([1, 2], 50), seed=5, runs=RUNS)
    assert abs(len(null.days) / RUNS - 0.05) < 4.5 * math.sqrt(0.05 * 0.95 / RUNS)


def test_other_looks_are_refused(plan: sa.Plan) -> None:
    with pytest.raises(InvalidValue, match="give looks='end'"):
        sa.experiment(plan, design_of(plan).primary, daily=400)
