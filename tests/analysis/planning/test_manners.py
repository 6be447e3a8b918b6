"""The planner builds nothing that cannot win, does not jump between sizes, warns, and weighs fake reports."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sordino_analysis.evaluation.manipulation import manipulation
from sordino_analysis.mechanisms.factorization import FactorizationMechanism
from sordino_analysis.mechanisms.least_variances import half_sphere_spread
from sordino_analysis.mechanisms.mechanism import Predicted, SharedWork
from sordino_analysis.mechanisms.registry import MECHANISMS
from sordino_analysis.mechanisms.subset_selection import SubsetSelectionMechanism
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning.plan_warnings import quality_warnings
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.progress import Progress, ignore_progress
from sordino_analysis.questions.linear import Workload, builtin, parse_specification

SIZES = (2047, 2048, 2049)


def planned(workload: Workload, epsilon: float = 1, **options: Any) -> CompiledPlan:
    return compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, effort="quick", **options)))


def many_bins(kind: str, bins: int) -> Workload:
    edges = {"start": 0, "step": 1, "count": bins - 1}
    domain = [{"name": "delay", "kind": "ordinal", "edges": edges}]
    return parse_specification({"name": kind, "domain": domain, "queries": kind}).build()


def settings(attributes: int, members: int, width: int, *, exactly: bool) -> Workload:
    domain = [
        {"name": f"a{number}", "kind": "categorical", "labels": [f"v{member}" for member in range(members)]}
        for number in range(attributes)
    ]
    queries = {"kind": "marginals", "width": width, "exactly": exactly}
    return parse_specification({"name": "settings", "domain": domain, "queries": queries}).build()


def integers(items: int) -> Workload:
    domain = [{"name": "item", "kind": "integers", "low": 0, "high": items - 1}]
    return parse_specification({"name": "items", "domain": domain, "queries": "histogram"}).build()


# The kinds of queries of the targets, with what their variance must be at most where there is time.
TARGETS: dict[str, tuple[Callable[[], Workload], float, str, float]] = {
    "histogram 2^20, mean": (lambda: integers(1 << 20), 1, "mean", 3.70),
    "histogram 2^20, max": (lambda: integers(1 << 20), 1, "max", 3.93),
    "histogram 2^20, ε = 4": (lambda: integers(1 << 20), 4, "max", 0.189),
    "prefix 1024, mean": (lambda: many_bins("prefix", 1024), 1, "mean", 25),
    "prefix 1024, max": (lambda: many_bins("prefix", 1024), 1, "max", 30.5),
    "prefix 4096, mean": (lambda: many_bins("prefix", 4096), 1, "mean", 35),
    "prefix 65,536, mean": (lambda: many_bins("prefix", 65536), 1, "mean", 58),
    "prefix 4096, ε = 2": (lambda: many_bins("prefix", 4096), 2, "mean", 7.8),
    "ranges 1024, mean": (lambda: many_bins("ranges", 1024), 1, "mean", 39.5),
    "ranges 4096, max": (lambda: many_bins("ranges", 4096), 1, "max", 66),
    "marginals of 2 of 20": (lambda: settings(20, 2, 2, exactly=True), 1, "mean", 94),
    "marginals of 3 of 20": (lambda: settings(20, 2, 3, exactly=True), 1, "mean", 248),
    "marginals of 2 of 64": (lambda: settings(64, 2, 2, exactly=True), 1, "mean", 735),
    "marginals of 3 of 64": (lambda: settings(64, 2, 3, exactly=True), 1, "mean", 5160),
    "marginals of 2 of 6 of 10": (lambda: settings(6, 10, 2, exactly=False), 1, "mean", 49.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_five_seconds_are_enough_for_twice_the_target(name: str) -> None:
    workload_of, epsilon, objective, target = TARGETS[name]
    workload = workload_of()
    plan = planned(workload, epsilon, objective=objective, time_limit=5.0)
    assert plan.analyst.mechanism not in ("subset_selection", "randomized_response")
    assert plan.summary.variance <= 2 * target
    assert plan.summary.warnings == ()


def lines(*sides: int, labels: int = 0) -> Workload:
    """Prefix sums of ordered attributes, in each of so many categories where there are some."""
    domain: list[dict[str, Any]] = [
        {"name": f"a{number}", "kind": "integers", "low": 0, "high": side - 1} for number, side in enumerate(sides)
    ]
    queries: Any = {f"a{number}": "prefix" for number in range(len(sides))}
    if labels:
        domain.append({"name": "c", "kind": "categorical", "labels": [f"v{label}" for label in range(labels)]})
        queries["c"] = "histogram"
    return parse_specification({"name": "lines", "domain": domain, "queries": queries}).build()


@pytest.mark.parametrize("seconds", [0.001, pytest.param(5.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("workload", "epsilon", "objective", "structured"),
    [
        (lines(600), 1, "mean", "shifted_grids"),
        (lines(128, labels=8), 1, "mean", "category_grids"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                (lines(500), 1, "mean", "shifted_grids"),
                (lines(600), 4, "max", "shifted_grids"),
                (many_bins("ranges", 2049), 1, "max", "shifted_grids"),
                (lines(128, labels=8), 4, "max", "category_grids"),
                (lines(32, 32), 1, "mean", "plane_grids"),
                (settings(10, 2, 2, exactly=True), 1, "mean", "orbit_kernel"),
            )
        ),
    ],
)
def test_a_plan_cut_short_has_at_most_a_fifth_more_than_the_structured_one(
    workload: Workload, epsilon: float, objective: str, structured: str, seconds: float
) -> None:
    whole = planned(workload, epsilon, objective=objective, mechanism=structured)
    hurried = planned(workload, epsilon, objective=objective, time_limit=seconds)
    assert hurried.summary.variance <= 1.2 * whole.summary.variance


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["prefix", "ranges"])
def test_intervals_do_not_jump_at_the_largest_dense_size(kind: str) -> None:
    _check_no_jump([planned(many_bins(kind, size)) for size in SIZES])


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_histograms_do_not_jump_at_the_largest_dense_size(objective: str) -> None:
    _check_no_jump([planned(builtin("histogram", size), objective=objective) for size in SIZES])


def _check_no_jump(plans: list[CompiledPlan]) -> None:
    for name in ("max_variance", "mean_variance", "lower_bound_max", "lower_bound_mean", "device_bytes"):
        values = np.array([getattr(plan.summary, name) for plan in plans], dtype=float)
        assert np.abs(values[1:] / values[:-1] - 1).max() < (0.02 if name != "device_bytes" else 0.1), name


def test_what_cannot_win_by_its_formula_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it was built")

    monkeypatch.setattr(SubsetSelectionMechanism, "propose", never)
    monkeypatch.setattr(FactorizationMechanism, "propose", never)
    plan = planned(many_bins("prefix", 520), objective="mean")
    assert plan.analyst.mechanism == "shifted_grids"
    rows = {row.name: row for row in plan.summary.candidates}
    chosen = plan.summary.mean_variance
    for name in ("subset_selection", "randomized_response"):
        least = rows[name].least_variance
        assert least is not None
        assert least > 10 * chosen
        assert rows[name].reason == f"its formula gives at least {least:.4g}, and shifted_grids has less"
        assert rows[name].mean_variance is None
    # Of the vector mechanism the figure is known, though its factors are too large to be made.
    least = rows["factorization"].least_variance
    assert least is not None
    assert least == pytest.approx(2 * plan.summary.lower_bound_mean, rel=0.05)


@pytest.mark.parametrize("mechanism", ["randomized_response", "subset_selection", "factorization"])
@pytest.mark.parametrize("epsilon", [0.5, 2])
@pytest.mark.parametrize("objective", ["max", "mean"])
def test_a_formula_is_below_the_exact_figure_and_near_it(mechanism: str, epsilon: float, objective: str) -> None:
    """Of subset selection and half-spheres; randomized response tells less than any mechanism of equal types may."""
    (candidate,) = (each for each in MECHANISMS if each.name == mechanism)
    assert isinstance(candidate, Predicted)
    for kind in ("prefix", "ranges"):
        options = PlanningOptions.of(epsilon=epsilon, objective=objective, mechanism=mechanism)
        request = PlanRequest(builtin(kind, 24), options)
        exact = candidate.propose(SharedWork(request), ignore_progress).variance(request)
        least = candidate.least_variance(SharedWork(request))
        assert least is not None
        assert least <= exact * (1 + 1e-9)
        assert mechanism == "randomized_response" or least >= 0.6 * exact


def test_the_spread_of_a_half_sphere_rises_to_half_pi() -> None:
    spreads = [half_sphere_spread(dimension, 1) * np.tanh(0.5) ** 2 for dimension in (1, 2, 10, 10**6)]
    assert spreads[0] == pytest.approx(1)
    assert spreads == sorted(spreads)
    assert spreads[-1] == pytest.approx(np.pi / 2, rel=1e-5)


def test_a_far_variance_a_missing_bound_and_idle_answers_are_said_with_what_to_do() -> None:
    assert planned(builtin("prefix", 12), users=10_000).summary.warnings == ()
    (far,) = planned(builtin("prefix", 40), mechanism="subset_selection").summary.warnings
    assert far.startswith("the variance of subset_selection is ")
    assert "leave the mechanism to the planner" in far
    (hurried,) = planned(builtin("prefix", 40), time_limit=1e-9).summary.warnings
    assert hurried.startswith("the variance of subset_selection is ")
    assert hurried.endswith("times the lower bound: plan again with more time")
    (missing,) = quality_warnings(4.0, 0.0, builtin("prefix", 40), mechanism="hierarchy", epsilon=1, objective="max")
    assert missing.startswith("no lower bound above 0 was proved, so it is not known how far hierarchy is")
    idle = planned(builtin("histogram", 40), users=20)
    (few,) = idle.summary.warnings
    assert few.startswith("with 20 users, 40 of 40 answers have a predicted error of 25 % of their range or more")
    enough = int(few.split("from ")[1].split(" users")[0].replace(",", ""))
    assert planned(builtin("histogram", 40), users=enough).summary.warnings == ()
    assert max(error.rmse for error in idle.predicted_errors(enough)) == pytest.approx(0.1, rel=1e-2)


def test_a_large_workload_without_structure_is_planned_with_a_warning() -> None:
    domain = [{"name": name, "kind": "ordinal", "edges": {"start": 0, "step": 1, "count": 10}} for name in "abcd"]
    workload = parse_specification({"name": "w", "domain": domain, "queries": {"stack": [
        {"queries": {"a": "prefix", "b": "prefix", "c": "total", "d": "total"}},
        {"queries": {"a": "total", "b": "total", "c": "prefix", "d": "histogram"}},
    ]}}).build()  # fmt: skip
    (warning,) = planned(workload).summary.warnings
    assert "it tells all 14641 types apart; ask about fewer" in warning


def test_manipulation_of_each_candidate_is_that_of_its_plan() -> None:
    rows = {row.name: row for row in planned(builtin("prefix", 12)).summary.candidates}
    for name in ("subset_selection", "hierarchy"):
        alone = planned(builtin("prefix", 12), mechanism=name)
        moved = manipulation(alone.device, alone.analyst, alone.request.workload).max()
        assert rows[name].manipulation == pytest.approx(moved)


def test_robust_weighs_what_fake_reports_do() -> None:
    workload = builtin("histogram", 12)
    plain, robust = (planned(workload, users=1000, robust=share) for share in (None, 0.1))
    assert (plain.analyst.mechanism, robust.analyst.mechanism) == ("subset_mixture", "subset_selection")
    assert robust.summary.robust == 0.1

    def error(row: Any) -> float:
        return float(row.max_variance / 1000 + (row.bias_bound + 0.1 * row.manipulation) ** 2)

    rows = [row for row in robust.summary.candidates if row.applies]
    assert min(rows, key=error).name == "subset_selection"
    assert robust.summary.manipulation < plain.summary.manipulation
    with pytest.raises(PlanError, match="state the number of users, too"):
        LinearRequest(workload, PlanningOptions.of(epsilon=1, robust=0.1))
    with pytest.raises(PlanError, match="robust"):
        PlanningOptions.of(epsilon=1, users=10, robust=1.0)


def test_linear_algebra_has_one_thread_while_a_plan_is_made_and_its_own_again_after() -> None:
    def threads() -> dict[str, int]:
        return {pool["filepath"]: pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    seen: list[dict[str, int]] = []
    steps = count()

    def look(_: Progress) -> None:
        # To ask every library takes longer than a step.
        if next(steps) % 20 == 0:
            seen.append(threads())

    request = PlanRequest(builtin("prefix", 4), PlanningOptions.of(epsilon=1, effort="quick"))
    with threadpool_limits(limits=2, user_api="blas"):
        # A library that another test loaded may be built for one thread.
        before = {path: count for path, count in threads().items() if count == 2}
        compile_plan(request, look)
        assert {path: threads()[path] for path in before} == before != {}
    assert seen
    assert all(counts[path] == 1 for counts in seen for path in before)
