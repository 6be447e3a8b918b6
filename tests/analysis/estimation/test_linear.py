"""Estimates from aggregates that are exactly what is expected, and from ones that are not."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.estimation import consistency
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.estimation.linear import EstimationError, LinearEstimator, estimate
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.randomizers.directions import DIRECTION_SCALE
from sordino_analysis.evaluation.variance import answer_moments, type_variances
from sordino_analysis.questions.linear.operators import Ranges
from sordino_analysis.vectorized.arrays import ndarray
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness

pytestmark = pytest.mark.usefixtures("bounds_proved_once")
MECHANISMS = ["randomized_response", "subset_selection", "hyperplane_codebook", "factorization"]
# So many users leave no rounding of the sums: n·E[s] is a whole number to 10^-10 of itself.
MANY = 10**10


def expected_aggregate(device, histogram, users=MANY):
    """The sums that `users` reports of this histogram have on average."""
    randomizer = device.randomizer
    mean = for_randomizer(randomizer).moments.means(np.eye(randomizer.accumulator_size)) @ histogram
    unit = DIRECTION_SCALE if randomizer.accumulator == "direction_sums" else 1
    # Directions are kept in fixed point: fewer users leave as many digits without leaving the 64-bit sums.
    count = users if unit == 1 else users // 100
    return Aggregate(count, np.rint(mean * unit * count).astype(np.int64))


def simulated(plan, histogram, users, seed):
    cells = np.random.default_rng(seed).choice(len(histogram), size=users, p=histogram).astype(np.int64)
    randomizer = plan.device.randomizer
    payloads = randomize_many(randomizer, cells, SeededRandomness(seed))
    return cells, Aggregate(users, accumulate(randomizer, payloads))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("kind", ["histogram", "prefix", "ranges"])
def test_expected_sums_give_the_true_answers_and_their_exact_standard_errors(plan_of, mechanism, kind):
    plan = plan_of(kind, 6, mechanism=mechanism)
    histogram = np.array([0.3, 0.0, 0.1, 0.25, 0.05, 0.3])
    aggregate = expected_aggregate(plan.device, histogram)
    found = estimate(plan.device, plan.analyst, aggregate)
    truth = plan.request.workload.operator.matvec(histogram)
    np.testing.assert_allclose(found.unbiased, truth, atol=1e-7)
    # Penalties leave a guess a part of a standard error from expected sums.
    assert (np.abs(found.best - truth) <= 0.5 * found.standard_error + 1e-6).all()
    by_type = type_variances(plan.device, plan.analyst.decoder, plan.request.workload)
    users = aggregate.count
    np.testing.assert_allclose(found.standard_error, np.sqrt(by_type @ histogram / users), rtol=1e-4)
    sampled = truth * (1 - truth)
    expected = np.sqrt((by_type @ histogram + sampled) / users)
    np.testing.assert_allclose(found.population_standard_error, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("kind", "mechanism"),
    [("prefix", "subset_selection"), ("prefix", "randomized_response"), ("ranges", "subset_selection")],
)
@pytest.mark.parametrize("epsilon", ["1", "6"])
def test_intervals_end_where_the_error_is_z_standard_errors_of_the_end(plan_of, kind, mechanism, epsilon):
    """At an end q the variance is q of the types within the query and 1 − q of the others, of a plausible histogram."""
    plan = plan_of(kind, 6, epsilon, mechanism=mechanism)
    _, aggregate = simulated(plan, np.array([0.6, 0.2, 0.1, 0.05, 0.05, 0.0]), 300, 1)
    found = estimate(plan.device, plan.analyst, aggregate, level=0.9)
    bias, z, rows = plan.analyst.figures.bias_bound, normal_quantile(0.9), plan.request.workload.operator.dense()
    by_type = type_variances(plan.device, plan.analyst.decoder, plan.request.workload)
    # The nearest histogram, and z² users who are spread evenly.
    nearest = LinearEstimator.of(plan.device, plan.analyst).nearest(found.unbiased, 300).histogram
    held = (300 * nearest + z**2 / 6) / (300 + z**2)
    within, others = ((by_type * side) @ held / (side @ held) for side in (rows, 1 - rows))
    np.testing.assert_allclose(found.standard_error**2 * 300, by_type @ held, rtol=1e-5)
    quantile = found.reliability.band.quantile
    ends = [
        (found.lower + bias, z),
        (found.upper - bias, z),
        (found.band_lower + bias, quantile),
        (found.band_upper - bias, quantile),
    ]
    for end, width in ends:
        q = np.clip(end, 0, 1)
        variance = q * within + (1 - q) * others
        reach, cut = width * np.sqrt(variance / 300), np.abs(q - 0.5) >= 0.5 - bias - 1e-9
        # Ends are moved out to the best guess where they would not hold it.
        cut |= np.abs(np.abs(end - found.best) - bias) < 1e-12
        np.testing.assert_allclose(np.abs(end - found.unbiased)[~cut], reach[~cut], rtol=1e-5)
        assert (np.abs(end - found.unbiased)[cut] <= reach[cut] * (1 + 1e-9) + bias).all()
    # For the population, those where the variance of a sample is added, or ± z of its standard error.
    for end, side in ((found.population_lower + bias, -1), (found.population_upper - bias, 1)):
        q, away = np.clip(end, 0, 1), side * (end - found.unbiased)
        there = z * np.sqrt((q * within + (1 - q) * others + q * (1 - q)) / 300)
        even = z * found.population_standard_error
        cut = np.abs(q - 0.5) >= 0.5 - bias - 1e-9
        assert (cut | (np.abs(away - there) < 1e-5 * there) | (np.abs(away - even) < 1e-5 * even)).all()
        assert (cut | (away >= even * (1 - 1e-9))).all()
    assert (found.lower <= found.value).all()
    assert (found.value <= found.upper).all()
    assert (found.value == np.clip(found.unbiased, 0, 1)).all()
    assert min(found.band_lower.min(), found.population_lower.min()) >= 0
    assert max(found.band_upper.max(), found.population_upper.max()) <= 1
    assert z < quantile
    assert (found.users, found.level, found.counts_as_unbiased) == (300, 0.9, True)


def test_the_variance_of_an_interval_moves_with_the_answer_as_its_estimate_does(plan_of):
    """Hadamard response at ε = 6: two types share their outputs, and the variance of either is in what both hold.

    An answer and what both hold have errors that do not go together: the variance hardly moves with the answer, though
    types within the query have a larger one. Covariances are taken output by output.
    """
    plan, shares = plan_of("histogram", 6, "6", mechanism="hadamard_response"), np.array([0.3, 0.1, 0.1, 0.3, 0.2, 0.0])
    law = answer_moments(plan.device.randomizer, plan.analyst.decoder, plan.request.workload)
    kernel = kernel_table(plan.device.randomizer) / 2.0**plan.device.randomizer.bits
    decoder = ndarray(plan.analyst.decoder.matrix)
    means = decoder @ kernel
    covariance = np.einsum("aym,bym,ym,m->ab", *2 * [decoder[:, :, None] - means[:, None]], kernel, shares)
    by_type = law.type_variances()
    np.testing.assert_allclose(np.diag(covariance), by_type @ shares, rtol=1e-9)
    # One user's error of V̂ − E V̂ is Var_q · (ĥ − h), whose sum over types is nothing.
    centred = covariance - covariance.mean(axis=1, keepdims=True)
    slopes = law.variance_slopes(shares)
    np.testing.assert_allclose(slopes, (centred * by_type).sum(axis=1) / np.diag(covariance), rtol=1e-9)
    tilted = [np.polyfit(np.eye(6)[q], by_type[q], 1, w=np.sqrt(shares))[0] for q in range(5)]
    assert (np.abs(slopes[:2]) < 0.5 * np.abs(tilted[:2])).all()


def test_constant_queries_are_answered_exactly(plan_of):
    plan = plan_of("matrix", 3, mechanism="hyperplane_codebook", rows=((1.0, 0.0, 2.0), (7.0, 7.0, 7.0)))
    _, aggregate = simulated(plan, np.array([0.2, 0.3, 0.5]), 500, 2)
    found = estimate(plan.device, plan.analyst, aggregate)
    for name in ("unbiased", "best", "lower", "upper", "band_lower", "population_upper"):
        assert getattr(found, name)[1] == pytest.approx(7.0, abs=1e-12)
    assert found.standard_error[1] == found.population_standard_error[1] == 0
    assert found.standard_error[0] > 0


def test_a_matrix_of_any_numbers_has_the_sampling_variance_of_its_values(plan_of):
    rows = ((1.0, 0.0, 3.0), (0.5, -1.0, 0.0))
    plan = plan_of("matrix", 3, mechanism="factorization", rows=rows)
    histogram = np.array([0.2, 0.3, 0.5])
    found = estimate(plan.device, plan.analyst, expected_aggregate(plan.device, histogram))
    matrix = np.array(rows)
    sampled = matrix**2 @ histogram - (matrix @ histogram) ** 2
    added = (found.population_standard_error**2 - found.standard_error**2) * found.users
    np.testing.assert_allclose(added, sampled, rtol=1e-3)


def test_warnings_say_when_users_are_few_and_when_a_bias_matters(plan_of):
    rare = plan_of("prefix", 6, "8", mechanism="subset_selection")
    _, few = simulated(rare, np.full(6, 1 / 6), 150, 3)
    assert any("only 150 users" in text for text in estimate(rare.device, rare.analyst, few).warnings)
    plan = plan_of("prefix", 6, mechanism="factorization")
    many = expected_aggregate(plan.device, np.full(6, 1 / 6))
    found = estimate(plan.device, plan.analyst, many)
    assert any("bias of up to" in text for text in found.warnings)
    biased = plan_of("prefix", 33, "1", "max", "factorization", users=500, reduction=20, seed=3)
    _, some = simulated(biased, np.full(33, 1 / 33), 500, 4)
    assert not estimate(biased.device, biased.analyst, some).counts_as_unbiased


def test_a_warning_says_when_the_nearest_histogram_was_not_found(plan_of, monkeypatch):
    # Every second range is no family, whose best guess is the nearest histogram.
    rows = tuple(tuple(map(float, row)) for row in Ranges(16, 16).dense()[::2])
    plan = plan_of("matrix", 16, mechanism="randomized_response", rows=rows)
    _, sums = simulated(plan, np.full(16, 1 / 16), 2000, 1)
    monkeypatch.setattr(consistency, "_MOST_ACTIVE_SETS", 0)
    assert not any("not the nearest" in text for text in estimate(plan.device, plan.analyst, sums).warnings)
    monkeypatch.setattr(consistency, "_MOST_VERTEX_STEPS", 1)
    found = estimate(plan.device, plan.analyst, sums)
    assert any("feasible but not the nearest" in text for text in found.warnings)
    assert found.best.min() >= 0


def test_what_allows_no_estimate_is_refused(plan_of):
    plan, other = plan_of("prefix", 6, mechanism="randomized_response"), plan_of("prefix", 7, mechanism="factorization")
    empty = Aggregate.empty(plan.device.randomizer)
    with pytest.raises(EstimationError, match="no report was counted"):
        estimate(plan.device, plan.analyst, empty)
    one = replace(empty, count=1)
    with pytest.raises(EstimationError, match="two parts of one plan"):
        estimate(plan.device, other.analyst, one)
    with pytest.raises(EstimationError, match="has 6 sums, the aggregate 5"):
        estimate(plan.device, plan.analyst, Aggregate(1, np.zeros(5, dtype=np.int64)))
    for level in (0.0, 1.0, float("nan")):
        with pytest.raises(EstimationError, match="between 0 and 1"):
            estimate(plan.device, plan.analyst, one, level)


def test_one_report_is_an_estimate(plan_of):
    plan = plan_of("prefix", 6, mechanism="hyperplane_codebook")
    _, aggregate = simulated(plan, np.full(6, 1 / 6), 1, 5)
    found = estimate(plan.device, plan.analyst, aggregate)
    assert np.isfinite(found.band_upper).all()
    assert (np.diff(found.best) >= -1e-12).all()
