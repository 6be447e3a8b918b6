"""P1 against users simulated one by one. Thresholds of 4 standard errors have a false alarm of 6·10⁻⁵."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, mean_accumulator
from sordino_analysis.pairwise.one_round_split import OneRoundSplit, SplitReports
from sordino_analysis.pairwise.protocol import PairwiseError
from sordino_analysis.planning.rounds import ClosedRound
from sordino_analysis.questions.pairwise import PairwiseStatistic
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.audit import prove_epsilon
from sordino_shared.randomizers import Pair

RUNS = 5_700
# The standard error of a variance from so many runs is 1.9 %: four of them tell 15 % off from the truth.
TOLERANCE = 0.075
PROTOCOL = OneRoundSplit()
# So many users that no reduction pays.
MANY = 10**7


@pytest.fixture(scope="module")
def reports(small: Any) -> SplitReports:
    return SplitReports.of(PROTOCOL.design(small.request(4, MANY), lambda fraction: None).first)


@pytest.fixture(scope="module")
def means(small: Any, reports: SplitReports) -> np.ndarray:
    """(runs, p) mean statistics of the users."""
    payloads = randomize_many(reports.randomizer, np.tile(small.cells, RUNS), SeededRandomness(5))
    runs = payloads.reshape(RUNS, small.users, -1)
    sums = [Aggregate(small.users, accumulate(reports.randomizer, run)) for run in runs]
    return np.array([mean_accumulator(reports.randomizer, each) for each in sums])


@pytest.mark.parametrize("target", ["pairs", "histogram"])
def test_it_is_unbiased_for_either_target_and_not_for_the_other(
    small: Any, reports: SplitReports, means: np.ndarray, target: str
) -> None:
    values = np.array([reports.value(mean, small.users, target) for mean in means])
    truths = {
        "pairs": small.distances().of_pairs(small.counts),
        "histogram": small.distances().of_histogram(small.counts / small.users),
    }
    error = values.std() / np.sqrt(RUNS)
    assert abs(values.mean() - truths[target]) < 4 * error
    other = truths["histogram" if target == "pairs" else "pairs"]
    assert abs(values.mean() - other) > abs(values.mean() - truths[target])


def test_its_variance_is_the_formula_and_not_one_a_seventh_off(
    small: Any, reports: SplitReports, means: np.ndarray
) -> None:
    found = np.var([reports.value(mean, small.users, "pairs") for mean in means])
    predicted = reports.variance(small.counts / small.users, small.users)
    assert found == pytest.approx(predicted, rel=TOLERANCE)
    for wrong in (1.15 * predicted, predicted / 1.15):
        assert found != pytest.approx(wrong, rel=TOLERANCE)


def test_intervals_cover_and_name_their_standard_error(small: Any) -> None:
    cells = np.repeat(small.cells, 25)
    design = PROTOCOL.design(small.request(4, len(cells)), lambda fraction: None)
    truth = small.distances().of_pairs(25.0 * small.counts)
    estimates = [small.play(PROTOCOL, design, cells, seed)[0] for seed in range(300)]
    covered = sum(estimate.lower <= truth <= estimate.upper for estimate in estimates)
    # Binomial of 300 and .95: outside this range with a chance of 2·10⁻³.
    assert 273 <= covered <= 296
    spread = np.std([estimate.value for estimate in estimates])
    assert np.mean([estimate.standard_error for estimate in estimates]) == pytest.approx(spread, rel=0.15)
    assert all(estimate.population_standard_error > estimate.standard_error for estimate in estimates)


def test_epsilon_is_spent_once_and_the_figures_are_those_of_an_ordinary_plan(small: Any) -> None:
    design = PROTOCOL.design(small.request(1, MANY), lambda fraction: None)
    device, analyst = design.first.device, design.first.analyst
    assert isinstance(device.randomizer, Pair)
    proved = prove_epsilon(device.randomizer)
    assert proved is not None
    assert 0.999999 * 10**9 < proved.nano <= 10**9 == design.plan.guarantee
    assert analyst.figures.bias_bound < 1e-3 * analyst.figures.max_variance
    assert analyst.certificate.max.value <= analyst.figures.max_variance


def test_a_reduced_plan_states_its_bias_and_is_taken_only_where_it_pays(small: Any) -> None:
    statistic = small.distances(40)
    few = SplitReports.of(PROTOCOL.design(small.request(0.5, 100, statistic=statistic), lambda fraction: None).first)
    many = SplitReports.of(PROTOCOL.design(small.request(4, MANY, statistic=statistic), lambda fraction: None).first)
    assert many.factors.transform is None
    assert many.bias_bound == 0
    assert few.factors.transform is not None
    histogram = np.random.default_rng(4).dirichlet(np.ones(40))
    bias = few.squared_error(histogram, 100) - few.variance(histogram, 100)
    assert 0 < bias <= few.bias_bound**2


def test_the_same_round_gives_the_same_bytes_and_too_few_reports_none(small: Any) -> None:
    first, again = (PROTOCOL.design(small.request(1), lambda fraction: None) for _ in range(2))
    assert (first.plan.digest, first.first.analyst.digest) == (again.plan.digest, again.first.analyst.digest)
    lonely = ClosedRound(first.first, Aggregate(1, np.zeros(first.first.device.randomizer.accumulator_size, dtype=int)))
    with pytest.raises(PairwiseError, match="a pair needs two"):
        PROTOCOL.step(first.plan, (lonely,))


def test_a_function_of_several_forms_is_left_to_others(small: Any) -> None:
    several: PairwiseStatistic = replace(small.distances(), forms=small.distances().forms * 2)
    assert "one quadratic form" in str(PROTOCOL.reason_against(small.request(1, statistic=several)))
    assert PROTOCOL.reason_against(small.request(1)) is None
