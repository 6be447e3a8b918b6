"""A plan's numbers are those of its bytes and of the brute-force kernel; it survives writing and reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_shared.errors import InvalidValue, ProtocolError
from sordino_shared.guarantees import PureEpsilon


def test_the_plan_is_the_planners(delays: sa.Workload, plan: sa.Plan) -> None:
    compiled = compile_plan(PlanRequest(delays, PlanningOptions.of(epsilon=1, objective="max")))
    assert plan.device.content == compiled.device.content
    assert plan.analyst.content == compiled.analyst.content
    np.testing.assert_allclose(plan.variances, compiled.profile.variance)
    assert plan.manipulation().max() == pytest.approx(compiled.summary.manipulation)


def test_variances_are_those_of_a_histogram_by_randomized_response() -> None:
    """Kairouz, Bonawitz and Ramage 2016: p = e^ε/(e^ε + k − 1), q = 1/(e^ε + k − 1); the cell is held or not."""
    plan = sa.plan(sa.histogram(3), epsilon=1, mechanism="randomized_response")
    p, q = np.e / (np.e + 2), 1 / (np.e + 2)
    worst = max(p * (1 - p), q * (1 - q)) / (p - q) ** 2
    np.testing.assert_allclose(plan.variances, worst, rtol=1e-8)
    assert plan.variance == pytest.approx(worst, rel=1e-8)


def test_users_needed_is_the_least_number_with_that_error(plan: sa.Plan) -> None:
    users = plan.users_needed(error=0.01)
    assert plan.errors(users).max() <= 0.01 < plan.errors(users - 1).max()


def test_shuffling_hides_more_with_more_honest_reports(plan: sa.Plan) -> None:
    few, many, all_honest = plan.shuffled(1), plan.shuffled(5_000), plan.shuffled(5_000, fake=0, delta="1e-9")
    assert (few.amplified, few.epsilon, few.honest) == (False, 1.0, 0)
    assert (many.amplified, many.honest, float(many.delta)) == (True, 4_500, 1e-6)
    assert many.epsilon < all_honest.epsilon < 0.1
    assert plan.shuffled(5_000, fake=0).epsilon < many.epsilon


def test_shuffling_refuses_what_is_no_share_delta_or_number(plan: sa.Plan) -> None:
    for reports, options in ((0, {}), (9, {"fake": 1.0}), (9, {"fake": "all"}), (9, {"delta": 0}), (9, {"delta": "x"})):
        with pytest.raises(InvalidValue):
            plan.shuffled(reports, **options)  # type: ignore[arg-type]


def test_the_bound_is_below_the_variance_and_the_audit_holds(plan: sa.Plan) -> None:
    assert plan.ratio is not None
    assert 1 <= plan.ratio < 1.2
    assert plan.ratio == plan.variance / plan.bound
    assert all(check.holds for check in plan.audit())


def test_the_objective_chooses_variance_and_bound(delays: sa.Workload) -> None:
    mean = sa.plan(delays, epsilon="1", objective="mean")
    assert mean.variance == mean.analyst.figures.mean_variance
    assert mean.bound == mean.analyst.certificate.mean.value
    assert mean.users_needed(0.01) == int(np.ceil(mean.variance / (0.01**2 - mean.bias_bound**2)))


def test_a_plan_is_read_back_from_its_bytes_and_its_folder(plan: sa.Plan, tmp_path: Path) -> None:
    plan.save(tmp_path / "plan")
    for again in (sa.read_plan(tmp_path / "plan"), sa.read_plan(plan.device.content, plan.analyst.content)):
        assert repr(again) == repr(plan)
        assert again.users_needed(0.02) == plan.users_needed(0.02)


def test_parts_that_do_not_belong_together_or_are_damaged_are_refused(plan: sa.Plan) -> None:
    other = sa.plan(sa.histogram(3), epsilon=1)
    with pytest.raises(InvalidValue, match="two parts of one plan"):
        sa.read_plan(plan.device.content, other.analyst.content)
    with pytest.raises(ProtocolError):
        sa.read_plan(plan.device.content[:-1], plan.analyst.content)
    with pytest.raises(InvalidValue, match="both parts"):
        sa.read_plan(plan.device.content)


def test_a_cached_plan_is_taken_and_a_damaged_file_is_not(tmp_path: Path) -> None:
    stages: list[str] = []

    def planned() -> sa.Plan:
        stages.clear()
        return sa.plan(sa.histogram(4), epsilon=1, cache=tmp_path, progress=lambda told: stages.append(told.stage))

    first = planned()
    assert stages
    assert planned().device.content == first.device.content
    assert not stages
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert planned().device.content == first.device.content
    assert stages


def test_progress_prints_each_stage_once(capsys: pytest.CaptureFixture[str]) -> None:
    sa.plan(sa.histogram(4), epsilon=1, progress=True)
    lines = [line.partition("%")[2].partition(",")[0] for line in capsys.readouterr().err.splitlines()]
    assert len(lines) == len(set(lines)) > 3


def test_a_time_limit_still_gives_a_plan() -> None:
    assert sa.plan(sa.prefix(32), epsilon=1, time_limit=0.1).device.guarantee == PureEpsilon.of(1)


def test_a_plan_is_shown_in_text_and_html(plan: sa.Plan) -> None:
    assert repr(plan).splitlines()[0] == "Plan of delay, prefix: 3 queries over 4 cells"
    assert f"ratio {plan.ratio:.3f}" in repr(plan)
    assert "<caption>Plan of delay, prefix" in plan._repr_html_()


def test_names_in_html_are_escaped() -> None:
    plan = sa.plan(sa.histogram(["<b>", "c"], name="<i>"), epsilon=1)
    shown = plan._repr_html_() + sa.simulate(plan, ["c"] * 50, seed=0)._repr_html_()
    assert "<b>" not in shown
    assert "<i>" not in shown


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"epsilon": 0}, InvalidValue, "above 0"),
        ({"epsilon": 17}, InvalidValue, "from 0.001 to 16"),
        ({"epsilon": 1, "effort": "much"}, InvalidValue, "quick, standard, thorough"),
        ({"epsilon": 1, "mechanism": "magic"}, sa.PlanError, "subset_selection"),
        ({"epsilon": 1, "time_limit": -1}, sa.PlanError, "time_limit: Input should be greater than 0"),
    ],
)
def test_mistakes_are_named(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sa.plan(sa.histogram(3), **arguments)


def test_a_statistic_of_pairs_is_directed_to_its_own_function(delays: sa.Workload, plan: sa.Plan) -> None:
    with pytest.raises(TypeError, match="plan_pairwise"):
        sa.plan({"name": "x"}, epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="pairwise_statistic"):
        sa.plan_pairwise(delays, 1, 100)  # type: ignore[arg-type]
    for users in (0, -1):
        with pytest.raises(InvalidValue, match="at least 1"):
            plan.errors(users)
