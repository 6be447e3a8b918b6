"""One round's estimate, errors and intervals against users simulated with their exact laws."""

import time

import numpy as np
import pytest

from sordino_analysis.evaluation.integer_kernels import histogram_decoder, integer_kernel
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.estimators import NoStatistic, linear_form, linearised, one_round_estimate, own_error
from sordino_analysis.questions.pairwise import PairwiseStatistic, QuadraticForm
from sordino_shared.domains import Categorical, Domain
from sordino_shared.guarantees import PureEpsilon

SIZE, USERS, RUNS = 4, 400, 3000
DOMAIN = Domain((Categorical("type", ("a", "b", "c", "d")),))
FORM = np.array([[0.0, 1, 2, 1], [1, 0.5, 1, 2], [2, 1, 0, 3], [1, 2, 3, 1]])
OTHER = np.array([[0.0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]])
GINI = 1.0 - np.eye(SIZE)


def form_of(matrix):
    return PairwiseStatistic(
        name="form",
        domain=DOMAIN,
        forms=(QuadraticForm("W", matrix),),
        combine=lambda u: float(u[0]),
        gradient=lambda u: np.ones(1),
        denominators=(),
        specification={},
    )


RATIO = PairwiseStatistic(
    name="ratio",
    domain=DOMAIN,
    forms=(QuadraticForm("N", FORM), QuadraticForm("D", OTHER)),
    combine=lambda u: float(u[0] / u[1]),
    gradient=lambda u: np.array([1 / u[1], -u[0] / u[1] ** 2]),
    denominators=(1,),
    specification={},
    notes=(),
    range_of_ratio=(0.0, 12.0),
)


def response(epsilon):
    low = np.full(SIZE, 1 / (np.exp(epsilon) + SIZE - 1))
    kernel = integer_kernel(low, np.eye(SIZE, dtype=bool), PureEpsilon.of(epsilon))
    return DecodedReportMoments.of(kernel, histogram_decoder(kernel, np.full(SIZE, 0.25)))


def rounds(law, counts, runs, seed=0):
    generator = np.random.default_rng(seed)
    outputs = sum(generator.multinomial(n, law.kernel[:, x], size=runs) for x, n in enumerate(counts))
    return [DecodedReports(law, found.astype(float)) for found in outputs]


def estimates(statistic, law, counts, runs, target="pairs"):
    return [one_round_estimate(statistic, r, target=target, protocol="one_round") for r in rounds(law, counts, runs)]


@pytest.mark.parametrize("target", ["pairs", "histogram"])
def test_it_is_unbiased_for_the_users_own_statistic(target):
    counts, own = np.array([100, 60, 200, 40]), form_of(FORM)
    found = np.array([linearised(own, r, target).value() for r in rounds(response(1.0), counts, RUNS)])
    truth = own.of_pairs(counts.astype(float)) if target == "pairs" else own.of_histogram(counts / USERS)
    assert abs(found.mean() - truth) < 4 * found.std() / np.sqrt(RUNS)


def test_the_histogram_is_told_from_pairs_by_the_diagonal():
    # Two users at ε = 16 are what they say; the mean over pairs has no diagonal.
    reports, own = DecodedReports(response(16.0), np.array([1.0, 1, 0, 0, 0])), form_of(FORM)
    pairs, histogram = (linearised(own, reports, target).value() for target in ("pairs", "histogram"))
    assert pairs == pytest.approx(FORM[0, 1], abs=1e-4)
    assert histogram == pytest.approx((2 * FORM[0, 1] + FORM[0, 0] + FORM[1, 1]) / 4, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [[100, 60, 200, 40], [100, 100, 100, 100]])
@pytest.mark.parametrize("matrix", [FORM, GINI])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_intervals_cover_where_slopes_are_lost_in_noise_and_where_they_are_not(counts, matrix, epsilon):
    found = estimates(form_of(matrix), response(epsilon), np.array(counts), 200)
    truth = form_of(matrix).of_pairs(np.array(counts, dtype=float))
    # Four of 200 intervals are a standard error and a half: 90 % is two below what should be covered.
    assert np.mean([e.lower <= truth <= e.upper for e in found]) > 0.9


def test_stated_variances_are_those_achieved_and_15_percent_is_seen():
    counts = np.array([300, 20, 60, 20])
    reports = rounds(response(2.0), counts, RUNS)
    values = np.array([r.form(FORM) for r in reports])
    stated = np.mean([own_error(FORM, r).variance for r in reports])
    # The standard error of a variance from 3,000 runs is 2.6 %.
    assert values.var() == pytest.approx(stated, rel=0.08)
    assert 1.15 * values.var() != pytest.approx(stated, rel=0.08)
    assert values.var() / 1.15 != pytest.approx(stated, rel=0.08)


def test_the_populations_interval_covers_the_populations_value():
    law, histogram, generator = response(4.0), np.array([0.5, 0.1, 0.3, 0.1]), np.random.default_rng(4)
    truth, statistic = form_of(FORM).of_histogram(histogram), form_of(FORM)
    found = []
    for run in range(100):
        reports = rounds(law, generator.multinomial(USERS, histogram), 1, seed=run)[0]
        found.append(one_round_estimate(statistic, reports, target="pairs", protocol="p"))
    values = np.array([e.value for e in found])
    # The standard error of a variance from 100 runs is 14 %; the users' own sampling is more than half of it.
    assert values.var() == pytest.approx(np.mean([e.population_standard_error**2 for e in found]), rel=0.56)
    assert values.var() > 1.6 * np.mean([e.standard_error**2 for e in found])
    assert np.mean([e.population_lower <= truth <= e.population_upper for e in found]) > 0.88


def test_a_ratio_has_the_delta_methods_error_with_the_joint_covariance():
    counts = 20 * np.array([100, 60, 200, 40])
    found = estimates(RATIO, response(2.0), counts, 100)
    truth = RATIO.of_pairs(counts.astype(float))
    achieved = np.mean([(e.value - truth) ** 2 for e in found])
    assert np.mean([e.standard_error**2 for e in found]) == pytest.approx(achieved, rel=0.56)
    assert np.mean([e.lower <= truth <= e.upper for e in found]) > 0.88
    assert not found[0].unbiased
    assert [name for name, _ in found[0].forms] == ["N", "D"]


def test_a_ratio_is_consistent():
    law, shares = response(2.0), np.array([100, 60, 200, 40])
    biases = []
    for scale in (20, 320):
        found = np.array([linearised(RATIO, r, "pairs").value() for r in rounds(law, scale * shares, 200)])
        biases.append(np.sqrt(np.mean((found - RATIO.of_pairs(scale * shares.astype(float))) ** 2)))
    assert biases[1] == pytest.approx(biases[0] / 4, rel=0.25)


def test_the_slope_of_a_ratio_is_its_derivative():
    values, moved = np.array([1.3, 0.4]), np.array([1e-6, -2e-6])
    change = RATIO.combine(values + moved) - RATIO.combine(values - moved)
    direction = np.sum(linear_form(RATIO, values)[0, 1:3])
    expected = RATIO.gradient(values) @ np.array([FORM[0, 1:3].sum(), OTHER[0, 1:3].sum()])
    assert direction == pytest.approx(expected)
    assert RATIO.gradient(values) @ moved == pytest.approx(change / 2, rel=1e-6)


def test_a_denominator_that_may_be_zero_has_an_interval_and_no_value():
    reports = rounds(response(0.5), np.array([398, 2, 0, 0]), 1)[0]
    found = one_round_estimate(RATIO, reports, target="pairs", protocol="p")
    assert found.value is None
    assert found.standard_error is None
    assert 0 <= found.lower < found.upper <= 12
    assert "divides by D, which may be zero" in found.warnings[0]


def test_one_report_is_refused():
    with pytest.raises(NoStatistic, match="at least two reports"):
        one_round_estimate(
            form_of(FORM), DecodedReports(response(1.0), np.array([1.0, 0, 0, 0, 0])), target="pairs", protocol="p"
        )


@pytest.mark.slow
def test_a_thousand_types_take_as_long_as_a_few_products_of_matrices():
    """About eight times W times the decoder: k³ operations, and none of k⁴."""
    generator = np.random.default_rng(0)
    size, outputs = 1024, 4096
    kernel = generator.random((outputs, size)) + 0.5
    kernel /= kernel.sum(axis=0)
    law = DecodedReportMoments(kernel, np.linalg.pinv(kernel))
    line = Domain((Categorical("type", tuple(f"type {number}" for number in range(size))),))
    places = np.arange(size) / size
    form = QuadraticForm("W", np.abs(np.subtract.outer(places, places)))
    statistic = PairwiseStatistic(
        name="form",
        domain=line,
        forms=(form,),
        combine=lambda u: float(u[0]),
        gradient=lambda u: np.ones(1),
        denominators=(),
        specification={},
    )
    reports = DecodedReports(law, generator.multinomial(100_000, kernel.mean(axis=1)).astype(float))
    seconds = []
    for work in (
        lambda: form.matrix @ law.decoder,
        lambda: one_round_estimate(statistic, reports, target="pairs", protocol="p"),
    ):
        work()
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    assert seconds[1] < 20 * seconds[0], seconds
