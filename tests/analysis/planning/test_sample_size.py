"""Users that a statement needs: the formula, its least number, and campaigns of that size."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.documents.crowd_size import CrowdFigures
from sordino_analysis.estimation.intervals import bonferroni_quantile
from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.pairwise.pairwise_sample_size import pairwise_sample_size
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning.sample_size import Statement
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_shared.errors import InvalidValue

Z = 1.959963984540054


@pytest.fixture(scope="module")
def plan() -> sa.Plan:
    return sa.plan(sa.histogram(4), epsilon=1, mechanism="randomized_response", effort="quick")


def test_the_number_is_the_least_whose_interval_is_within_the_margin(plan: sa.Plan) -> None:
    sizes = plan.sample_sizes(0.02)
    for users, variance in zip(sizes.users, plan.variances, strict=True):
        assert Z * math.sqrt(variance / users) <= 0.02 < Z * math.sqrt(variance / (users - 1))
    assert sizes.most == sizes.users.max()
    assert sizes.hardest == plan.workload.label(int(sizes.users.argmax()))


def test_the_worst_query_counts_whether_it_is_listed_or_not(plan: sa.Plan) -> None:
    sizes = plan.sample_sizes(0.02)
    worst = 2 * float(plan.variances.max())
    further = replace(sizes, profile=replace(sizes.profile, sought=worst))
    assert Z * math.sqrt(worst / further.most) <= 0.02 < Z * math.sqrt(worst / (further.most - 1))
    assert further.band == pytest.approx(2 * sizes.band, abs=2)
    less = replace(sizes, profile=replace(sizes.profile, sought=worst / 4))
    assert (less.most, less.band) == (sizes.most, sizes.band)


def test_differences_take_twice_and_populations_a_quarter_of_the_square_of_the_scale_more(plan: sa.Plan) -> None:
    one = plan.sample_sizes(0.02).users
    assert np.allclose(plan.sample_sizes(0.02, difference=True).users, 2 * one, atol=1)
    more = plan.sample_sizes(0.02, population=True).users - one
    assert np.allclose(more, (Z / 0.02) ** 2 / 4, atol=1.5)
    assert plan.sample_sizes(0.02).band > one.max()


def test_a_margin_is_a_share_of_the_scale_of_each_query() -> None:
    cells = [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60]}]
    rows = {"share": [1, 1, 0, 0], "minutes": [0, 15, 60, 300]}
    written = {"name": "delays", "domain": cells, "queries": {"labels": list(rows), "matrix": list(rows.values())}}
    found = sa.plan(sa.workload(written), epsilon=1, mechanism="randomized_response", effort="quick")
    needed = found.sample_sizes(0.05).users
    scaled = found.variances / np.array([1.0, 300.0]) ** 2
    assert np.allclose(needed, scaled * (Z / 0.05) ** 2, atol=1)


def test_campaigns_of_that_size_have_intervals_within_the_margin_that_hold(plan: sa.Plan) -> None:
    """200 seeded campaigns where all users hold the worst type: the mean half width is the margin, within 2 %.

    Coverage of the worst answer: at least .905 of the campaigns, which a law of .95 misses with chance .004.
    """
    margin, worst = 0.05, 2
    users = plan.sample_sizes(margin).most
    generator = np.random.default_rng(5)
    kernel = _chances(plan, worst)
    halves, held = [], 0
    for _ in range(200):
        found = sa.estimate(plan, sa.Aggregate(users, generator.multinomial(users, kernel)))
        low, high = found.intervals[worst]
        # All users hold it, so the upper end is cut.
        halves.append(found.uncut[worst] - low)
        held += low <= 1.0 <= high
    assert np.mean(halves) == pytest.approx(margin, rel=0.02)
    assert held >= 181


def _chances(plan: sa.Plan, held: int) -> np.ndarray:
    randomizer = plan.device.randomizer
    chances = np.full(4, 1.0)
    chances[held] = math.e
    assert randomizer.kind == "randomized_response"
    return chances / chances.sum()


def test_a_bias_above_the_margin_is_refused() -> None:
    statement = Statement(margin=0.01)
    with pytest.raises(PlanError, match=r"bias alone may be 0\.02"):
        statement.users(np.array([1.0]), np.array([0.02]), np.array([1.0]), Z)
    wide = Statement(margin=0.03, difference=True)
    with pytest.raises(PlanError, match=r"no number of users"):
        wide.users(np.array([1.0]), np.array([0.02]), np.array([1.0]), Z)


@pytest.mark.parametrize("terms", [{"margin": 0.0}, {"margin": math.nan}, {"margin": 0.1, "level": 1.0}])
def test_margins_and_levels_out_of_range_are_refused(terms: dict[str, float]) -> None:
    with pytest.raises(InvalidValue, match=r"must"):
        Statement(**terms)


def test_the_number_of_a_pairwise_statistic_settles_at_the_margin() -> None:
    cells = [{"name": "carrier", "kind": "categorical", "labels": ["AA", "UA", "WN"]}]
    written = sa.pairwise_statistic({"name": "carriers", "domain": cells, "statistic": {"kind": "gini_diversity"}})
    options = PlanningOptions.of(epsilon=2, users=2, effort="quick", protocol="one_round")
    found = pairwise_sample_size(PairwiseRequest(written, options), Statement(margin=0.02))
    assert 0.97 * 0.02 <= found.predicted <= 0.02
    planned = sa.plan_pairwise(written, 2, users=found.users, effort="quick", protocol="one_round")
    assert Z * planned.error == pytest.approx(found.predicted, rel=1e-9)
    with pytest.raises(InvalidValue, match="target"):
        pairwise_sample_size(PairwiseRequest(written, options), Statement(margin=0.02, population=True))
    with pytest.raises(PlanError, match="more than"):
        pairwise_sample_size(PairwiseRequest(written, options), Statement(margin=1e-9))


TOO_LONG_TO_LIST = {
    "2^64 texts": ({"name": "url", "kind": "hashed", "bits": 64}, "histogram", 1 << 64),
    "2^20 numbers": ({"name": "id", "kind": "integers", "low": 0, "high": (1 << 20) - 1}, "histogram", 1 << 20),
    "3,000 prefix sums": ({"name": "ms", "kind": "integers", "low": 0, "high": 3000}, "prefix", 3000),
}


@pytest.mark.parametrize("case", TOO_LONG_TO_LIST)
def test_all_answers_are_those_that_are_asked_and_not_those_that_are_listed(case: str) -> None:
    """Bonferroni's 1 − Q·P(|Z| > z) and Šidák's quantile differ by less than .6 % in the users at a level of .95."""
    attribute, queries, asked = TOO_LONG_TO_LIST[case]
    found = sa.plan(sa.workload({"name": case, "domain": [attribute], "queries": queries}), epsilon=1, objective="mean")
    sizes = found.sample_sizes(0.01)
    assert sizes.band / sizes.most == pytest.approx((bonferroni_quantile(0.95, asked) / Z) ** 2, rel=0.006)


def test_a_domain_of_more_cells_than_memory_has_a_band() -> None:
    settings = [{"name": f"s{place}", "kind": "categorical", "labels": ["off", "on"]} for place in range(70)]
    asked = {"name": "settings", "domain": settings, "queries": {"kind": "marginals", "width": 1}}
    sizes = sa.plan(sa.workload(asked), epsilon=1).sample_sizes(0.01)
    assert sizes.band / sizes.most == pytest.approx((bonferroni_quantile(0.95, 140) / Z) ** 2, rel=0.006)


def test_a_summary_says_how_many_users_all_of_2_to_the_64_items_take() -> None:
    written = {"name": "pages", "domain": [{"name": "url", "kind": "hashed", "bits": 64}], "queries": "histogram"}
    planned = compile_plan(PlanRequest(sa.workload(written), PlanningOptions.of(epsilon=1)))
    one, every = planned.summary.users_within(0.01, 0.95, difference=False) or (0, 0)
    assert every / one == pytest.approx((bonferroni_quantile(0.95, 1 << 64) / Z) ** 2, rel=0.006)


@pytest.mark.parametrize("margin", [1e-300, 1e-9])
def test_a_margin_that_no_number_of_users_reaches_is_refused(margin: float) -> None:
    written = {
        "name": "d",
        "domain": [{"name": "a", "kind": "categorical", "labels": ["x", "y"]}],
        "queries": "histogram",
    }
    planned = compile_plan(PlanRequest(sa.workload(written), PlanningOptions.of(epsilon=1)))
    with pytest.raises(InvalidValue, match="larger margin"):
        planned.summary.model_copy(update={"bias_bound": 0.0}).users_within(margin, 0.95, difference=False)


def _crowd(workload: sa.Workload, mechanism: str) -> CrowdFigures:
    """As the summary of a plan has it."""
    summary = LinearRequest(workload, PlanningOptions.of(epsilon=1, mechanism=mechanism)).compile().summary
    assert summary.linear is not None
    assert summary.linear.crowd is not None
    return summary.linear.crowd


def test_the_crowd_of_a_plan_is_the_number_that_a_statement_needs(plan: sa.Plan) -> None:
    """Two ways to the same number: the summary's share of the scale, and exact variances query by query."""
    cells = [{"name": "load_ms", "kind": "number", "low": 0, "high": 5000, "unit": "ms"}]
    numbers = sa.workload({"name": "loads", "domain": cells, "queries": {"load_ms": ["mean", {"share_above": 1000}]}})
    pairs = [
        (plan, _crowd(sa.histogram(4), mechanism="randomized_response")),
        (
            sa.plan(numbers, epsilon=1, mechanism="randomized_response"),
            _crowd(numbers, mechanism="randomized_response"),
        ),
    ]
    for found, figures in pairs:
        needed = found.sample_sizes(0.1, population=True).most
        assert figures.needed(0.1) == pytest.approx(needed, abs=1)
        assert not figures.crowd(needed + 1).too_few
        few = figures.crowd(needed - 2)
        assert few.too_few
        assert "too few to tell" in few.sentence
        assert f"± 10 % takes {figures.needed(0.1):,} reports" in few.sentence


def test_random_reports_of_a_shuffler_count_against_a_crowd() -> None:
    figures = CrowdFigures(variance=0.5, bias=0.0, blanket=400.0)
    needed = figures.needed(0.1)
    assert needed is not None
    assert figures.half_width(needed) <= 0.1 < figures.half_width(needed - 1)
    assert needed > CrowdFigures(variance=0.5, bias=0.0, blanket=0.0).needed(0.1)  # type: ignore[operator]
    biased = CrowdFigures(variance=0.5, bias=0.2, blanket=0.0)
    assert biased.needed(0.1) is None
    assert "no number of reports is enough" in biased.crowd(10**6).sentence
    assert "no number of reports" in biased.hint


def test_crowds_are_within_the_half_width_as_often_as_it_says() -> None:
    """A yes/no question about a population, of devices drawn from it: 4,000 crowds of 300, of which 95 % are within.

    The share is one half, which varies most. False alarms: below 1e-6; a half width that is 12 % less is seen.
    """
    figures, rng = _crowd(sa.histogram(2), mechanism="randomized_response"), np.random.default_rng(35)
    keep, users, crowds = math.e / (math.e + 1), 300, 4000
    held = rng.binomial(users, 0.5, crowds)
    told = rng.binomial(held, keep) + rng.binomial(users - held, 1 - keep)
    answers = (told / users - (1 - keep)) / (2 * keep - 1)
    exact = math.sqrt(math.e / (math.e - 1) ** 2 + 0.25)
    assert figures.half_width(users) == pytest.approx(Z * exact / math.sqrt(users), rel=1e-4)

    def held_by(half: float) -> float:
        return float((np.abs(answers - 0.5) <= half).mean())

    assert held_by(figures.half_width(users)) > 0.95 - 5 * math.sqrt(0.95 * 0.05 / crowds)
    assert held_by(0.88 * figures.half_width(users)) < 0.95 - 5 * math.sqrt(0.95 * 0.05 / crowds)
