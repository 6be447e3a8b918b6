"""Plans of means: as good as the best kernel that a linear program finds, for any number of values."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.kinds.drawn_rounds import drawn_estimate
from sordino_analysis.kinds.numbers import NumberExtras
from sordino_analysis.kinds.registry import kind_named
from sordino_analysis.mechanisms.single_query import query_kernel
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.requests import request_for
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.audit import prove_epsilon
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Dithered, RandomizedResponse

LOAD = {"name": "load_ms", "kind": "number", "low": 0, "high": 60000, "unit": "ms"}


@cache
def planned(epsilon: float, cells: int | None = None, **options: Any) -> FinishedPlan:
    attribute = LOAD if cells is None else {"name": "load_ms", "kind": "integers", "low": 0, "high": cells - 1}
    asked = parse_specification({"name": "load time", "domain": [attribute], "queries": {"load_ms": "mean"}})
    return request_for(asked, PlanningOptions.of(epsilon=epsilon, **options)).compile(lambda step: None)


def relative_variance(plan: FinishedPlan) -> float:
    summary = plan.summary
    assert isinstance(summary, LinearSummary)
    return summary.relative(summary.max_variance)


CELLS = [2, 3, 7, 17, 18, 26, 100, 10_000, 65_536, 2**32, 2**62]


@pytest.mark.parametrize(
    ("cells", "epsilon"),
    [
        (2, 1.0),
        (18, 0.25),
        (2**62, 4.0),
        *(pytest.param(cells, each, marks=pytest.mark.slow) for cells in CELLS for each in (0.25, 0.5, 1, 2, 3, 4)),
    ],
)
def test_no_mean_has_more_variance_than_the_best_kernel_of_33_values(cells: int, epsilon: float) -> None:
    """The linear program of up to 33 evenly spaced values, whose least worst variance the plan is within 2 % of.

    Of 26 to some hundred values some lie in the middle of a gap of 2 members: above ε = 2 rounding adds up to Δ²/4 for
    levels a share Δ of the range apart.
    """
    values = np.linspace(0, 1, min(cells, 33))
    least = query_kernel(values, None, PureEpsilon.of(epsilon)).variances.max()
    plan = planned(epsilon, cells)
    knots = plan.device.randomizer.knots[0] if isinstance(plan.device.randomizer, Dithered) else (0,)
    apart = max(np.diff([float(knot) for knot in knots]), default=0.0) / (cells - 1)
    uneven = epsilon > 2 and 21 < cells < 1000
    assert relative_variance(plan) <= 1.02 * least + (apart**2 / 4 if uneven else 0.0)


@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 1.0), (4.0, 0.033)])
def test_the_goals_of_any_range(epsilon: float, most: float) -> None:
    plan = planned(epsilon)
    assert relative_variance(plan) <= most
    assert len(plan.device.content) <= 8192
    assert isinstance(plan.device.randomizer, Dithered)
    assert len(plan.device.randomizer.knots[0]) == 21
    assert prove_epsilon(plan.device.randomizer) is not None
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))


def test_38_400_users_tell_a_mean_of_9999_within_a_hundredth_of_the_range() -> None:
    summary = planned(1.0, 10_000).summary
    assert isinstance(summary, LinearSummary)
    needed = summary.users_within(99.99, 0.95, difference=False)
    assert needed is not None
    assert needed[0] <= 38_400


def test_one_bit_is_asked_for_by_its_mechanism() -> None:
    plan = planned(1.0, mechanism="randomized_response")
    inner = plan.device.randomizer
    assert isinstance(inner, Dithered)
    assert isinstance(inner.inner, RandomizedResponse)
    assert inner.knots == ((0, 2**32),)
    assert len(plan.device.content) < 256
    # coth²(ε/2)/4, and at the middle of the range nothing less.
    assert relative_variance(plan) == pytest.approx(0.25 / np.tanh(0.5) ** 2, rel=1e-6)


def test_an_estimate_is_in_units_and_says_where_numbers_are_clipped() -> None:
    kind, plan = kind_named("numbers"), planned(4.0)
    values = np.random.default_rng(1).exponential(9000, 5000).tolist()
    estimate = drawn_estimate(kind, plan, values, SeededRandomness(2))
    [answer] = estimate.answers()
    assert (answer["kind"], answer["unit"], answer["label"]) == ("mean", "ms", "mean of load_ms")
    truth, value, error = np.clip(values, 0, 60000).mean(), answer["value"], answer["standard_error"]
    assert isinstance(value, float)
    assert isinstance(error, float)
    # Six standard errors: a false alarm of one seed in 10⁹; and the error is that of the plan.
    assert abs(value - truth) < 6 * error
    assert 0.9 < error / (60000 * np.sqrt(0.032 / 5000)) < 1.05
    assert isinstance(estimate.extras, NumberExtras)
    [table] = kind.tables(estimate, None)
    said = "load_ms: numbers below 0 ms count as 0 ms, numbers above 60,000 ms as 60,000 ms"
    assert f"{said} (`clipped` would tell how many)" in table.notes
    assert any(row[1].endswith(" ms") for row in table.rows)


def test_what_is_not_told_of_a_category_is_said_below_the_table() -> None:
    """Nobody is in FR: its mean has no number in the table, and a reader is told why and what would do."""
    kind = kind_named("numbers")
    stars = {"name": "stars", "kind": "integers", "low": 1, "high": 3}
    country = {"name": "country", "kind": "categorical", "labels": ["DE", "FR"]}
    asked = kind.parse({"name": "stars", "domain": [stars, country], "queries": {"stars": "mean"}})
    plan = kind.request_class().of(asked, PlanningOptions.of(epsilon=4, effort="quick")).compile(lambda step: None)
    values = [{"stars": 1 + each % 3, "country": "DE"} for each in range(3000)]
    [table] = kind.tables(drawn_estimate(kind, plan, values, SeededRandomness(2)), None)
    [said] = [note for note in table.notes if "not enough" in note]
    assert said.startswith("mean of stars, country: FR: not enough users in country: FR: ")


def test_a_range_that_is_much_too_wide_is_said_with_one_that_would_do() -> None:
    """Numbers within 2,900 to 3,100 of 60,000 have a standard deviation of 58: with its error 10 of them are 10,000."""
    kind = kind_named("numbers")
    asked = kind.parse({"name": "load time", "domain": [LOAD], "queries": {"load_ms": ["mean", "sd"]}})
    plan = kind.request_class().of(asked, PlanningOptions.of(epsilon=4, effort="quick")).compile(lambda step: None)
    narrow, wide = ((np.random.default_rng(3).uniform(*ends, 100_000)).tolist() for ends in ((2900, 3100), (0, 60000)))
    [said] = drawn_estimate(kind, plan, narrow, SeededRandomness(4)).extras.warnings
    assert "60,000 ms 10 standard deviations or more from the mean" in said
    assert "would do, with" in said
    assert "fewer users" in said
    assert not drawn_estimate(kind, plan, wide, SeededRandomness(4)).extras.warnings


def test_several_means_from_one_report_are_not_worse_than_one_asked_of_each_device() -> None:
    """With one of d = 2 questions drawn by each device a mean has 2(V + 1/4) − 1/4: .314 at ε = 4."""
    asked = parse_specification(
        {
            "name": "two numbers",
            "domain": [LOAD, LOAD | {"name": "size"}],
            "queries": {"load_ms": "mean", "size": "mean"},
        }
    )
    plan = request_for(asked, PlanningOptions.of(epsilon=4, effort="quick")).compile(lambda step: None)
    assert relative_variance(plan) < 2 * (0.0323 + 0.25) - 0.25
    assert prove_epsilon(plan.device.randomizer) is not None
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))


@pytest.mark.parametrize(
    ("domain", "most"),
    [([LOAD | {"missing": True}], 1.7), ([{"name": "c", "kind": "categorical", "labels": ["a", "b"]}, LOAD], 2.4)],
    ids=["missing", "two categories"],
)
def test_rows_that_no_weights_balance_get_rows_of_single_types(domain: list[dict[str, Any]], most: float) -> None:
    """Columns of 17 levels in a line are nearly alike: half-spaces alone have no balance at ε = 1."""
    asked = parse_specification({"name": "load time", "domain": domain, "queries": {"load_ms": "mean"}}).build()
    options = PlanningOptions.of(epsilon=1, mechanism="optimised_kernel", effort="quick")
    assert compile_plan(PlanRequest(asked, options)).relative_variance < most
