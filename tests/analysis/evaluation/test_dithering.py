"""Moments of dithered reports: exact where cells are listed, a bound by the types at the knots where they are not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.documents.number_queries import AskedNumber, NumberMeasure, NumberQueries
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, mean_accumulator
from sordino_analysis.evaluation.integer_kernels import kernel_table
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.evaluation.weighted_decoder import expand_weighted
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.planning.planner import compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.randomizers import randomize_codes
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Dithered, FiniteKernel, RandomizedResponse

EVERY = tuple(range(17))
STEP = 1 << 28


def asked(rows: np.ndarray, *sizes: int) -> Workload:
    """These rows over attributes of these sizes."""
    domain = [{"name": f"a{i}", "kind": "integers", "low": 0, "high": size - 1} for i, size in enumerate(sizes)]
    return parse_specification({"name": "asked", "domain": domain, "queries": {"matrix": rows.tolist()}}).build()


def unbiased(inner: RandomizedResponse, rows: np.ndarray) -> AnswerDecoder:
    """The inverse of a randomised response for answers: e_y scaled, so that means are the rows."""
    own, other = inner.own_weight / 2**inner.bits, inner.other_weight / 2**inner.bits
    matrix = rows / (own - other)
    return AnswerDecoder(array_of(matrix, "<f8"), array_of(-other / (own - other) * rows.sum(axis=1), "<f8"))


def mean_rows(levels: int) -> np.ndarray:
    return np.vstack([np.arange(levels) / (levels - 1), (np.arange(levels) / (levels - 1)) ** 2])


@pytest.mark.parametrize("knots", [(0, 4, 12), (0, 1, 12), (0, 12)])
def test_the_bound_at_the_knots_is_the_largest_variance_of_any_member(knots: tuple[int, ...]) -> None:
    """Both ways agree on the worst value, and the ordinary variance without dither would be too small."""
    inner = RandomizedResponse.for_guarantee(len(knots), PureEpsilon.of(4))
    dithered = Dithered((knots,), inner)
    rows = np.array([[k / knots[-1] for k in knots], [k % 3 for k in knots]])
    linear = np.array([np.interp(range(knots[-1] + 1), knots, row) for row in rows])
    decoder = unbiased(inner, rows)
    members = answer_moments(dithered, decoder, asked(linear, knots[-1] + 1))
    types = answer_moments(dithered, decoder, asked(rows, len(knots)))
    exact, bound = members.profile(), types.profile()
    assert exact.bias.max() < 1e-9
    assert bound.bias.max() < 1e-9
    np.testing.assert_allclose(bound.variance, exact.variance, rtol=1e-9)
    plain = answer_moments(inner, decoder, asked(rows, len(knots))).profile()
    assert (plain.variance < exact.variance * (1 - 1e-3)).any()


def test_covariances_at_the_knots_are_at_least_those_of_any_values() -> None:
    """For 200 populations over the members, whose types are what the bound is told."""
    knots, rng = (0, 4, 12), np.random.default_rng(3)
    inner = RandomizedResponse.for_guarantee(3, PureEpsilon.of(2))
    dithered = Dithered((knots,), inner)
    rows = np.array([[k / 12 for k in knots], [1.0, -1.0, 2.0]])
    linear = np.array([np.interp(range(13), knots, row) for row in rows])
    decoder = unbiased(inner, rows)
    members = answer_moments(dithered, decoder, asked(linear, 13))
    types = answer_moments(dithered, decoder, asked(rows, 3))
    chances = np.array([np.interp(range(13), knots, row) for row in np.eye(3)])
    for _ in range(200):
        histogram = rng.dirichlet(np.full(13, 0.3))
        exact, bound = (
            root @ root.T
            for root in (members.covariance_root(histogram), types.covariance_root(chances @ histogram))
            if root is not None
        )
        assert np.linalg.eigvalsh(bound - exact).min() > -1e-9
        assert (types.mixed_variances(chances @ histogram) >= np.diag(exact) - 1e-9).all()


def test_a_mean_of_a_number_is_estimated_from_reports_of_17_types() -> None:
    """2^32 + 1 members: the estimate is within 5 standard errors of the truth (a false alarm in 10^6)."""
    knots = tuple(STEP * place for place in range(17))
    inner = RandomizedResponse.for_guarantee(17, PureEpsilon.of(4))
    dithered, rows = Dithered((knots,), inner), mean_rows(17)[:1]
    decoder, users = unbiased(inner, rows), 40_000
    values = np.random.default_rng(5).beta(2, 5, users)
    members = np.floor(values * 2.0**32).astype(np.uint64)[:, None]
    payloads = randomize_codes(dithered, members, ((1 << 32) + 1,), SeededRandomness(6))
    moments = answer_moments(dithered, decoder, asked(rows, 17))
    aggregate = Aggregate(users, accumulate(dithered, payloads))
    [found] = moments.decode(mean_accumulator(dithered, aggregate))
    error = (moments.profile().variance[0] / users) ** 0.5
    assert abs(found - values.mean()) < 5 * error
    # Rounding down in place of dithering is off by half a step, which as many reports show.
    down = randomize_codes(inner, members // np.uint64(STEP), (17,), SeededRandomness(6))
    [biased] = moments.decode(mean_accumulator(inner, Aggregate(users, accumulate(inner, down))))
    assert abs(biased - values.mean()) > 5 * error
    line = [{"name": "a", "kind": "integers", "low": 0, "high": 1 << 32}]
    wide = parse_specification({"name": "all", "domain": line, "queries": "prefix"}).build()
    with pytest.raises(InvalidValue, match="ask of the types at the knots"):
        answer_moments(dithered, decoder, wide)


def test_several_attributes_have_exact_moments() -> None:
    """Chances of types multiply over attributes; an attribute without knots is as it is."""
    inner = RandomizedResponse.for_guarantee(2 * 2 * 3, PureEpsilon.of(3))
    dithered, sizes = Dithered(((0, 3), (), (0, 1, 4)), inner), (4, 2, 5)
    rows = np.random.default_rng(7).uniform(-1, 1, (2, 12))
    decoder = AnswerDecoder(array_of(rows, "<f8"), array_of(np.zeros(2), "<f8"))
    workload = asked(np.random.default_rng(8).uniform(-1, 1, (2, 40)), *sizes)
    variances = answer_moments(dithered, decoder, workload).type_variances()
    own, other = inner.own_weight / 2**inner.bits, inner.other_weight / 2**inner.bits
    for cell, codes in enumerate(np.ndindex(*sizes)):
        chances = [np.interp(codes[0], (0, 3), row) for row in np.eye(2)], np.eye(2)[codes[1]]
        types = np.kron(np.kron(*chances), [np.interp(codes[2], (0, 1, 4), row) for row in np.eye(3)])
        law = other + (own - other) * types
        assert law.sum() == pytest.approx(1)
        expected = rows**2 @ law - (rows @ law) ** 2
        np.testing.assert_allclose(variances[:, cell], expected, atol=1e-12)
    with pytest.raises(InvalidValue):
        answer_moments(dithered, decoder, asked(rows, 12))


def test_of_several_rounded_attributes_the_bound_at_the_knots_holds_for_every_cell() -> None:
    """Means of two attributes: exact variances of all cells, and bounds that are reached where roundings add most."""
    inner = RandomizedResponse.for_guarantee(2 * 3, PureEpsilon.of(2))
    dithered, sizes = Dithered(((0, 3), (0, 2, 4)), inner), (4, 5)
    low, high = np.array([0.0, 1.0]), np.array([0.0, 0.5, 1.0])
    types = np.stack([np.kron(low, np.ones(3)), np.kron(np.ones(2), high)])
    cells = np.stack([np.kron(np.arange(4) / 3, np.ones(5)), np.kron(np.ones(4), np.arange(5) / 4)])
    own, other = inner.own_weight / 2**inner.bits, inner.other_weight / 2**inner.bits
    offsets = -other / (own - other) * types.sum(axis=1)
    decoder = AnswerDecoder(array_of(types / (own - other), "<f8"), array_of(offsets, "<f8"))
    exact = answer_moments(dithered, decoder, asked(cells, *sizes)).type_variances().max(axis=1)
    bound = answer_moments(dithered, decoder, asked(types, 2, 3)).type_variances().max(axis=1)
    alone = answer_moments(inner, decoder, asked(types, 2, 3)).type_variances().max(axis=1)
    assert (exact <= bound + 1e-9).all()
    np.testing.assert_allclose(bound, exact, rtol=0.02)
    assert bound[0] > alone[0] + 0.2


@pytest.mark.parametrize("kernel", ["query_kernel", "randomized_response"])
def test_seven_steps_and_four_levels_are_exact_under_two_kernels(kernel: str) -> None:
    """R = 7, m = 4: the laws of reports of 8 members in integers, with ratios at most e^ε and the members as means."""
    epsilon = PureEpsilon.of(1)
    line = [{"name": "a", "kind": "integers", "low": 0, "high": 7}]
    asked_mean = parse_specification({"name": "mean", "domain": line, "queries": {"a": "mean"}})
    queries = NumberQueries((AskedNumber("a", 4, 1, (NumberMeasure("mean", ()),)),))
    workload = build_workload(asked_mean.build().held_domain, queries)
    plan = compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1, mechanism=kernel)))
    dithered = plan.device.randomizer
    assert isinstance(dithered, Dithered)
    knots = dithered.knots[0]
    assert knots == (0, 2, 4, 7)
    table = integer_table(dithered.inner)
    laws = []
    for member in range(8):
        below = max(place for place, knot in enumerate(knots) if knot <= member)
        above = min(below + 1, 3)
        share = Fraction(member - knots[below], max(knots[above] - knots[below], 1))
        laws.append([(1 - share) * row[below] + share * row[above] for row in table])
    worst = max(one / other for column in zip(*laws, strict=True) for one in column for other in column if other)
    assert worst == Fraction(*dithered.likelihood_ratio())
    assert math.log(worst) <= epsilon.epsilon
    decoder = expand_weighted(plan.analyst.decoder, dithered, workload)
    moments = answer_moments(dithered, decoder, workload)
    for member, law in enumerate(laws):
        chances = np.array([float(each / sum(law)) for each in law])
        assert moments.decode(chances)[0] == pytest.approx(member, abs=1e-9)


def integer_table(inner: object) -> list[list[int]]:
    """(outputs, types) the integer weights of reports."""
    if isinstance(inner, RandomizedResponse):
        return [[inner.own_weight if y == x else inner.other_weight for x in range(4)] for y in range(4)]
    assert isinstance(inner, FiniteKernel)
    return [[int(each) for each in row] for row in kernel_table(inner).tolist() if any(row)]


def test_sums_and_units_are_those_of_the_inner_randomizer() -> None:
    inner = RandomizedResponse.for_guarantee(3, PureEpsilon.of(1))
    half, own = for_randomizer(Dithered(((0, 4, 9),), inner)), for_randomizer(inner)
    payloads = np.array([[0], [2], [2]], dtype=np.uint8)
    assert half.accumulate(payloads).tolist() == own.accumulate(payloads).tolist() == [1, 0, 2]
    assert (half.most_reports, half.counted_outputs, half.reports_at_once, half.summed_on_ingest) == (
        *(own.most_reports, own.counted_outputs, own.reports_at_once, own.summed_on_ingest),
    )
    assert half.likelihood_ratio == own.likelihood_ratio == Fraction(inner.own_weight, inner.other_weight)
    half.check(np.array([1, 0, 2]), 3)
    with pytest.raises(InvalidValue):
        half.check(np.array([1, 0, 2]), 4)
