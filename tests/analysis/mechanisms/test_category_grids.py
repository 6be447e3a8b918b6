"""Plans of categories and one ordered attribute: their figures, and answers from simulated devices."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from sordino_analysis.documents.certificate import OwnTypesBound
from sordino_analysis.estimation.answer_on_demand import MeanAnswer, RatioAnswer, ShareAnswer
from sordino_analysis.estimation.answers_on_demand import answer, answerer_of
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.grids.category_answers import CategoryAnswers
from sordino_analysis.evaluation.grids.category_families import category_family_of
from sordino_analysis.mechanisms.category_grids import CategoryGridsMechanism
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.certificates import lower_bound
from sordino_analysis.planning.interval_certificates import categories_bound
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning.rechecks import recheck_bound
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.progress import ignore_progress
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened

REPORTS = 400_000
# Categories, bins, and at ε = 1: the mean variance that is aimed at, the largest, and the certified bound.
TARGETS = {(50, 1024): (35.5, 46.5, 30.97), (20, 4096): (46.5, 60, 40.6), (4, 16384): (58, 74, 48.6)}


def categories(count: int) -> dict[str, Any]:
    return {"name": "carrier", "kind": "categorical", "labels": [f"c{number}" for number in range(count)]}


def bins(count: int, **member: bool) -> dict[str, Any]:
    return {"name": "delay", "kind": "integers", "low": 0, "high": count - 1, **member}


def asked(domain: list[dict[str, Any]], queries: Any) -> Workload:
    return parse_specification({"name": "delays", "domain": domain, "queries": queries}).build()


@cache
def planned(
    members: int, count: int, epsilon: float = 1.0, objective: Objective = "mean", kind: str = "prefix"
) -> CompiledPlan:
    workload = asked([categories(members), bins(count)], {"carrier": "histogram", "delay": kind})
    return compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, objective=objective)))


@pytest.mark.parametrize(
    ("members", "count"), [(50, 1024), *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in list(TARGETS)[1:])]
)
def test_plans_reach_their_targets(members: int, count: int) -> None:
    summary, device = planned(members, count).summary, planned(members, count).device
    mean, _, bound = TARGETS[members, count]
    assert summary.mechanism == "category_grids"
    assert summary.mean_variance <= mean
    assert summary.lower_bound_mean >= bound
    assert summary.device_bytes < 3000
    assert device.randomizer.payload_bytes <= 10
    assert summary.bias_bound < 1e-9
    reasons = {row.name: row.reason for row in summary.candidates}
    assert "and category_grids has less" in (reasons["subset_selection"] or "")


def test_a_plan_for_the_worst_query_has_denser_sets_and_other_chances() -> None:
    worst, mean = planned(50, 1024, objective="max").summary, planned(50, 1024).summary
    assert worst.max_variance <= 45.2
    assert worst.mean_variance <= 37.5
    assert mean.max_variance > 48


@pytest.mark.slow
def test_a_plan_for_the_worst_query_at_a_large_epsilon_has_sets_of_another_density() -> None:
    # With the density for the mean it is 8.4 at the least.
    assert planned(50, 1024, epsilon=4, objective="max").summary.max_variance < 5.85


def test_an_audit_makes_every_claim_again_and_refuses_a_higher_bound() -> None:
    plan = planned(50, 1024)
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
    certificate = plan.analyst.certificate
    more = replace(certificate, mean=replace(certificate.mean, value=1.001 * certificate.mean.value))
    checks = {check.name: check.holds for check in audit_plan(plan.device, replace(plan.analyst, certificate=more))}
    assert not checks.pop("lower bound, mean")
    assert all(checks.values())


def test_the_largest_variance_says_which_queries_it_is_about() -> None:
    over = planned(50, 1024).summary.max_variance_over
    assert over == "68 of 1024 intervals of any member spread over all, and 32 near the worst"


@cache
def _users() -> np.ndarray:
    """The cells of users of 8 categories × 512 bins, later ones in the upper categories."""
    random = np.random.default_rng(3)
    members = random.choice(8, REPORTS, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.08, 0.05, 0.02])
    return np.asarray(members * 512 + (random.beta(2 + members, 5) * 512).astype(np.int64))


@cache
def _aggregate() -> Aggregate:
    return Aggregate(REPORTS, accumulate(_randomizer(), randomize_many(_randomizer(), _users(), SeededRandomness(4))))


def _randomizer() -> Coarsened:
    randomizer = planned(8, 512).device.randomizer
    assert isinstance(randomizer, Coarsened)
    return randomizer


def test_answers_of_simulated_devices_are_as_far_off_as_stated_and_another_law_is_not() -> None:
    plan = planned(8, 512)
    estimator = LinearEstimator.of(plan.device, plan.analyst)
    truth = estimator.workload.truth(_users())

    def scores(devices: Coarsened, seed: int) -> np.ndarray:
        reports = randomize_many(devices, _users(), SeededRandomness(seed))
        found = estimator.estimate(Aggregate(REPORTS, accumulate(_randomizer(), reports)))
        return np.asarray((found.unbiased - truth) / found.standard_error)

    # A right plan fails one seed in a thousand at most: Bonferroni over the listed queries.
    threshold = norm.isf(0.5e-3 / len(truth))
    assert np.abs(scores(_randomizer(), 4)).max() < threshold
    # Devices that hold the other weight back by a fifth shrink every answer.
    weaker = replace(_randomizer(), high=int(_randomizer().high * 0.8))
    assert np.abs(scores(weaker, 4)).max() > threshold


@pytest.mark.parametrize(
    ("kind", "text", "members", "first", "last"),
    [
        ("rectangle", "carrier:c2,delay:100..300", slice(2, 3), 100, 300),
        ("range", "delay:..150", slice(None), 0, 150),
        ("marginal", "carrier:c1", slice(1, 2), 0, 511),
        ("cell", "carrier:c0,delay:140", slice(0, 1), 140, 140),
    ],
)
def test_any_range_in_any_category_is_answered_on_demand(
    kind: Any, text: str, members: slice, first: int, last: int
) -> None:
    plan = planned(8, 512)
    answerer = answerer_of(plan.device, plan.analyst, _aggregate())
    (found,) = answer(answerer, plan.device.domain, kind, [text]).answers
    assert isinstance(found, ShareAnswer)
    shares = np.bincount(_users(), minlength=8 * 512).reshape(8, 512) / REPORTS
    truth = shares[members, first : last + 1].sum()
    # One seed in a hundred thousand.
    assert abs(found.uncut - truth) < 4.5 * found.standard_error
    # One about all categories is a sum of eight.
    assert 0 < found.standard_error < 0.025
    assert found.band[0] <= found.interval[0] <= found.value <= found.interval[1] <= found.band[1]


def test_a_category_is_a_group_that_shares_and_quantiles_are_given_for() -> None:
    plan = planned(8, 512)
    answerer = answerer_of(plan.device, plan.analyst, _aggregate())
    (found,) = answer(answerer, plan.device.domain, "range", ["delay:..150"], given="carrier=c0").answers
    assert isinstance(found, RatioAnswer)
    assert found.interval is not None
    shares = np.bincount(_users(), minlength=8 * 512).reshape(8, 512)
    truth = shares[0, :151].sum() / shares[0].sum()
    assert abs(found.value - truth) < 4.5 * (found.standard_error or 0)
    median = answer(answerer, plan.device.domain, "quantile", ["delay:0.5"], given="carrier=c0").answers[0]
    truth = np.searchsorted(np.cumsum(shares[0]), shares[0].sum() / 2)
    assert median.band[0] <= truth <= median.band[1]


def test_members_without_an_order_are_no_part_of_an_interval() -> None:
    domain = [bins(200, missing=True, other=True), categories(3)]
    plan = compile_plan(
        PlanRequest(
            asked(domain, {"carrier": "histogram", "delay": "prefix"}),
            PlanningOptions.of(epsilon=1.0, objective="mean"),
        )
    )
    assert plan.summary.mechanism == "category_grids"
    randomizer = plan.device.randomizer
    assert isinstance(randomizer, Coarsened)
    # All are in the first category, half of them without a number.
    cells = np.where(np.arange(100_000) % 2, 201 * 3, 7 * 3)
    sums = accumulate(randomizer, randomize_many(randomizer, cells, SeededRandomness(5)))
    answerer = answerer_of(plan.device, plan.analyst, Aggregate(100_000, sums))
    found = answer(answerer, plan.device.domain, "rectangle", ["carrier:c0,delay:..199", "carrier:c1,delay:..199"])
    half, none = found.answers
    assert isinstance(half, ShareAnswer)
    assert isinstance(none, ShareAnswer)
    assert abs(half.uncut - 0.5) < 4.5 * half.standard_error
    assert abs(none.uncut) < 4.5 * none.standard_error
    (missing,) = answer(answerer, plan.device.domain, "cell", ["carrier:c0,delay:other"]).answers
    assert isinstance(missing, ShareAnswer)
    assert abs(missing.uncut - 0.5) < 4.5 * missing.standard_error


@pytest.mark.parametrize(
    ("domain", "queries", "told"),
    [
        ([bins(1 << 30)], "prefix", "1073741824 types; at most 262144 are planned: use at most 262144 wider bins"),
        (
            [bins(1 << 21, missing=True, other=True)],
            "prefix",
            "2097154 types; at most 262144 are planned: use at most 262142 wider bins",
        ),
        (
            [categories(255), bins(1 << 16)],
            {"carrier": "histogram", "delay": "prefix"},
            "255 categories × 65536 bins are 16711680 types, and at most 1048576 are planned: with these categories "
            "use at most 4112 bins",
        ),
        (
            [categories(3), bins(1 << 30, missing=True)],
            {"carrier": "histogram", "delay": "prefix"},
            "prefix in place of ranges, whose plan answers for any rectangle; or use wider bins of 'delay', of which "
            "349524 are planned at most",
        ),
        (
            # Here the number of bins is not what is too large.
            [categories(50), bins(1024)],
            {"carrier": "histogram", "delay": "ranges"},
            "need not be told apart, or prefix in place of ranges, whose plan answers for any rectangle",
        ),
        (
            [bins(1 << 12), {**bins(1 << 9), "name": "size"}],
            "prefix",
            "4096 × 512 types are 2097152; at most 262144 are planned: use wider bins, for example 512 and 512 of them",
        ),
        (
            # For the first attribute first.
            [bins(1 << 15), {**bins(1 << 6), "name": "size"}],
            "prefix",
            "32768 × 64 types are 2097152; at most 262144 are planned: use wider bins, for example 4096 and 64 of them",
        ),
        (
            [bins(1 << 30)],
            {"stack": [{"queries": "prefix"}, {"queries": "histogram"}]},
            "a histogram of 1,073,741,824 items is not listed, and has no other queries beside it: use at most 65,536 "
            "wider bins, or ask for the histogram alone",
        ),
    ],
)
def test_too_many_types_are_refused_with_the_size_that_works(
    domain: list[dict[str, Any]], queries: Any, told: str
) -> None:
    # At once, in words, and without a list of the queries.
    with pytest.raises(InvalidValue) as refused:
        PlanRequest(asked(domain, queries), PlanningOptions.of(epsilon=1.0))
    assert str(refused.value).endswith(told)


@pytest.mark.parametrize("size", [(255, 4112), (3, 349525)])
def test_the_size_that_works_is_taken(size: tuple[int, int]) -> None:
    workload = asked([categories(size[0]), bins(size[1])], {"carrier": "histogram", "delay": "prefix"})
    request = PlanRequest(workload, PlanningOptions.of(epsilon=1.0))
    assert CategoryGridsMechanism().reason_against(SharedWork(request)) is None


@pytest.mark.parametrize("members", [255, 300, 3000])
@pytest.mark.parametrize("objective", ["mean", "max"])
def test_one_bin_beside_categories_is_a_histogram_of_these(members: int, objective: Objective) -> None:
    workload = asked([categories(members), bins(1)], {"carrier": "histogram", "delay": "prefix"})
    options = PlanningOptions.of(epsilon=1.0, objective=objective)
    beside = compile_plan(PlanRequest(workload, options)).summary
    alone = compile_plan(PlanRequest(asked([categories(members)], "histogram"), options)).summary
    assert beside.mechanism == alone.mechanism
    figures = (beside.max_variance, beside.mean_variance, beside.lower_bound_max, beside.lower_bound_mean)
    assert figures == (alone.max_variance, alone.mean_variance, alone.lower_bound_max, alone.lower_bound_mean)


def test_the_range_of_one_bin_is_sampled_where_there_are_types_beyond_it() -> None:
    domain = [categories(100), bins(1, missing=True, other=True)]
    workload = asked(domain, {"carrier": "histogram", "delay": "ranges"})
    options = PlanningOptions.of(epsilon=1.0, mechanism="category_grids")
    summary = compile_plan(PlanRequest(workload, options)).summary
    assert 3.9 < summary.mean_variance < summary.max_variance < 5.5


def test_the_mean_of_a_stack_is_that_of_all_its_queries() -> None:
    """The share of a member is one of these, whose weights add up to 0 over all members but for rounding."""
    parts: list[dict[str, Any]] = [
        {"queries": {"carrier": "histogram", "delay": "prefix"}},
        {"queries": {"carrier": "total", "delay": "prefix"}, "weight": 10},
        {"queries": {"carrier": "histogram", "delay": "total"}},
    ]
    workload = asked([categories(5), bins(60)], {"stack": parts})
    options = PlanningOptions.of(epsilon=6.0, objective="mean", mechanism="category_grids", effort="quick")
    plan = compile_plan(PlanRequest(workload, options))
    assert isinstance(plan.device.randomizer, Coarsened)
    law = CategoryAnswers.of(plan.device.randomizer, workload).law
    rows = workload.operator.dense()[workload.varying_rows].reshape(-1, *workload.domain.shape)
    weighed = workload.query_weights[workload.varying_rows, None, None] * law.variances(rows)
    assert plan.summary.mean_variance == pytest.approx(weighed.mean(axis=0).max(), rel=1e-9)
    assert plan.summary.max_variance == pytest.approx(weighed.max(), rel=1e-9)
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))


def bits(count: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
    names = [f"a{number}" for number in range(count)]
    return [{"name": name, "kind": "categorical", "labels": ["no", "yes"]} for name in names], dict.fromkeys(
        names, "histogram"
    )


@pytest.mark.parametrize(
    ("count", "line"),
    [(8, 8), pytest.param(11, 128, marks=pytest.mark.slow), pytest.param(13, 64, marks=pytest.mark.slow)],
)
def test_many_attributes_that_are_told_together_are_planned_as_one(count: int, line: int) -> None:
    domain, kinds = bits(count)
    # The ordered attribute is among the others.
    domain.insert(4, bins(line))
    several = compile_plan(
        PlanRequest(asked(domain, {**kinds, "delay": "prefix"}), PlanningOptions.of(epsilon=1.0, objective="mean"))
    )
    assert several.summary.mechanism == "category_grids"
    one = planned(1 << count, line)
    assert several.summary.mean_variance == pytest.approx(one.summary.mean_variance, rel=1e-9)
    assert several.summary.lower_bound_mean == pytest.approx(one.summary.lower_bound_mean, rel=1e-9)
    assert all(check.holds for check in audit_plan(several.device, several.analyst))
    # Somebody holds each of three cells a third of the time; the answer about any of them is a box of one cell.
    randomizer, random = several.device.randomizer, np.random.default_rng(5)
    assert isinstance(randomizer, Coarsened)
    cells = random.choice(several.device.domain.size, 3)[np.arange(60_000) % 3]
    sums = accumulate(randomizer, randomize_many(randomizer, cells, SeededRandomness(6)))
    answerer = answerer_of(several.device, several.analyst, Aggregate(60_000, sums))
    members = np.unravel_index(cells[0], several.device.domain.shape)
    named = [
        f"{one['name']}:{['no', 'yes'][member]}" for one, member in zip(domain, members, strict=True) if "labels" in one
    ]
    asked_for = ",".join([*named, f"delay:..{members[4]}"])
    (found,) = answer(answerer, several.device.domain, "rectangle", [asked_for]).answers
    assert isinstance(found, ShareAnswer)
    # One seed in a hundred thousand.
    assert abs(found.uncut - 1 / 3) < 4.5 * found.standard_error < 0.2


def test_more_sets_of_attributes_than_levels_are_made_for_are_refused_in_words() -> None:
    domain, kinds = bits(9)
    parts = [{"queries": {**dict.fromkeys(kinds, "total"), name: "histogram", "delay": "prefix"}} for name in kinds]
    workload = asked([*domain, bins(64)], {"stack": parts})
    with pytest.raises(
        PlanError, match=r"the parts of the stack tell 9 sets of attributes apart, and .* at most 8: ask"
    ):
        compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1.0, mechanism="category_grids")))


@pytest.mark.parametrize("given", [None, "carrier=c0"])
def test_the_mean_of_a_number_is_told_of_all_and_of_a_category(given: str | None) -> None:
    plan = planned(8, 512)
    answerer = answerer_of(plan.device, plan.analyst, _aggregate())
    (found,) = answer(answerer, plan.device.domain, "mean", ["delay"], given=given).answers
    assert isinstance(found, MeanAnswer)
    assert found.value is not None
    numbers = _users() % 512
    truth = numbers.mean() if given is None else numbers[_users() < 512].mean()
    # One seed in a hundred thousand.
    assert abs(found.value - truth) < 4.5 * (found.standard_error or 0) < 45


def test_answers_of_any_few_rows_have_their_exact_covariance() -> None:
    plan, random = planned(8, 512), np.random.default_rng(8)
    law = LinearEstimator.of(plan.device, plan.analyst).law
    assert isinstance(law, CategoryAnswers)
    histogram = random.dirichlet(np.ones(8 * 512))
    # The numbers of one category, those of all, and one cell.
    one = np.zeros((8, 512))
    one[2] = np.arange(512)
    rows = np.stack([one.ravel(), np.tile(np.arange(512.0), 8), np.eye(8 * 512)[700]])
    root = law.for_rows(Dense(rows), str).covariance_root(histogram)
    assert root is not None
    weights = random.standard_normal((4, 3)) / [100, 100, 1]
    expected = law.for_rows(Dense(weights @ rows), str).mixed_variances(histogram)
    np.testing.assert_allclose(((weights @ root) ** 2).sum(axis=1), expected, rtol=1e-6)


def test_thresholds_of_one_category_bound_the_worst_query_at_a_large_epsilon() -> None:
    queries = {
        "stack": [
            {"queries": {"carrier": "histogram", "delay": "prefix"}, "weight": 2},
            {"queries": {"carrier": "total", "delay": "ranges"}},
        ]
    }
    workload = asked([bins(60, missing=True), categories(9)], queries)
    options = PlanningOptions.of(epsilon=8.0, objective="max")
    found = lower_bound(SharedWork(PlanRequest(workload, options)), "max", ignore_progress)
    assert isinstance(found, OwnTypesBound)
    assert recheck_bound(found, workload, 8.0, "max") == pytest.approx(found.value, rel=1e-12)
    # Its queries are about the first category, and count as much as the part does.
    weight = workload.query_weights[0]
    assert {workload.label(int(query)).split(", ")[1] for query in ndarray(found.queries)} == {"carrier: c0"}
    shape = category_family_of(workload)
    assert shape is not None
    assert found.value > 2 * categories_bound(shape, 8.0).value
    with pytest.raises(InvalidValue, match="sum to 1"):
        recheck_bound(replace(found, weights=array_of(ndarray(found.weights) * 1.01, "<f8")), workload, 8.0, "max")
    assert weight > 1
