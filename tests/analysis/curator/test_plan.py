"""Plans of a curator: figures follow from the integers, bounds lie below them, and the objective decides."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sordino_analysis.curator.certificate import CuratorCertificate
from sordino_analysis.curator.design import asked_rows
from sordino_analysis.curator.plan import CuratorPlan, plan_release
from sordino_analysis.curator.strategy import squared_sensitivity
from sordino_analysis.curator.usefulness import uniform_error
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.optimisation.gaussian.covariance import proof_from_types
from sordino_analysis.questions.linear.specification import builtin_specification
from sordino_analysis.request_terms import Objective
from sordino_shared.errors import InvalidValue

RHO = Zcdp.of("0.024356")
CURATOR_PAGE = Path(__file__).parents[3] / "docs" / "curator.md"


def planned(objective: Objective = "mean", kind: str = "prefix", users: int | None = None) -> CuratorPlan:
    return plan_release(builtin_specification(kind, 24).build(), RHO, objective, users)


@pytest.mark.parametrize("kind", ["prefix", "histogram", "ranges"])
@pytest.mark.parametrize("objective", ["mean", "max"])
def test_the_objective_is_near_its_bound_and_figures_follow_from_the_integers(kind: str, objective: Objective) -> None:
    plan = planned(objective, kind)
    summary = plan.summary()
    squares = (plan.strategy.decoder**2).sum(axis=1) * plan.strategy.squared_sensitivity / (2 * 0.024356)
    assert summary.max_variance == pytest.approx(squares.max())
    assert summary.mean_variance == pytest.approx(squares.mean())
    assert summary.lower_bound_mean is not None
    assert summary.lower_bound_max is not None
    assert summary.lower_bound_mean <= summary.mean_variance
    assert summary.lower_bound_mean <= summary.lower_bound_max <= summary.max_variance
    ratio = summary.ratio_mean if objective == "mean" else summary.ratio_max
    assert ratio is not None
    assert 1 <= np.sqrt(ratio) <= (1.02 if objective == "mean" else 1.035)


def test_the_worst_query_has_less_variance_where_it_is_the_objective() -> None:
    worst, mean = planned("max").summary(), planned("mean").summary()
    assert worst.max_variance < mean.max_variance
    assert mean.mean_variance < worst.mean_variance


def test_more_rho_means_less_variance_in_proportion() -> None:
    workload = builtin_specification("prefix", 8).build()
    once, twice = (plan_release(workload, Zcdp.of(rho)).summary() for rho in ("0.01", "0.02"))
    assert once.max_variance == pytest.approx(2 * twice.max_variance)
    assert once.epsilon < twice.epsilon


def test_few_users_get_a_weaker_bound_and_shares_of_them() -> None:
    few, many = planned(users=3).summary(), planned(users=1000).summary()
    assert few.lower_bound_mean is not None
    assert many.lower_bound_mean is not None
    assert few.holds_from_n == 3
    assert few.lower_bound_mean < many.lower_bound_mean
    assert few.predicted_max_rmse == pytest.approx(np.sqrt(few.max_variance) / 3)


def test_the_ratio_of_a_plan_is_not_that_of_rows_which_leave_cells_empty() -> None:
    """Rows in one cell: what is proved of them alone is less, so the plan states what its bound needs.

    docs/curator.md has both ratios.
    """
    workload = builtin_specification("histogram", 32).build()
    rho = Zcdp.of("0.02")
    summary = plan_release(workload, rho, "mean", 200).summary()
    matrix = workload.operator.dense()
    alone = CuratorCertificate.of(matrix, proof_from_types(matrix, np.array([0])))
    assert summary.ratio_mean == pytest.approx(1.020, abs=5e-4)
    assert summary.mean_variance / alone.mean_variance(rho) == pytest.approx(1.542, abs=5e-3)
    assert summary.premise == "every cell has a row"
    assert "if every cell has a row" in CURATOR_PAGE.read_text()
    secret = plan_release(workload, rho, "mean", neighbours="add-remove").summary()
    assert (secret.holds_from_n, secret.premise) == (0, None)


def test_epsilon_is_that_of_the_delta_asked_for() -> None:
    plan = planned()
    assert plan.summary(Fraction(1, 10**9)).epsilon > plan.summary().epsilon == pytest.approx(1, rel=1e-5)
    assert "users" not in plan.summary().text()


def test_a_release_is_useful_where_it_has_half_the_error_of_the_uniform_histogram() -> None:
    """The stated error of the uniform histogram is that over 4,000 random orders, within five standard errors."""
    plan = planned(kind="ranges")
    matrix, weights = asked_rows(plan.workload, "replace")
    shares = 1 / np.arange(1, 25) ** 1.2
    orders = np.random.default_rng(0).permuted(np.tile(shares / shares.sum(), (4000, 1)), axis=1)
    squares = (((orders - 1 / 24) @ matrix.T) ** 2).mean(axis=1)
    stated = uniform_error(matrix, weights)
    assert abs(squares.mean() - stated**2) < 5 * squares.std() / 4000**0.5
    summary = plan.summary()
    error = np.sqrt(summary.mean_variance)
    assert error / summary.useful_from_n <= stated / 2 < error / (summary.useful_from_n - 1)


@pytest.mark.parametrize("objective", ["mean", "max"])
def test_a_plan_stopped_at_once_is_private_and_says_what_it_may_lose(objective: Objective) -> None:
    workload = builtin_specification("prefix", 24).build()
    plan = plan_release(workload, RHO, objective, should_stop=lambda: True)
    summary, best = plan.summary(), planned(objective).summary()
    assert "stopped" in summary.warnings[0]
    assert not best.warnings
    assert squared_sensitivity(plan.strategy.rows, "replace") == plan.strategy.squared_sensitivity
    name = f"{objective}_variance"
    assert getattr(best, name) < getattr(summary, name) <= getattr(best, name) * (1 + plan.design.gap) ** 2 * 1.01


def test_a_bound_for_few_users_is_stopped_in_time_too() -> None:
    workload = builtin_specification("prefix", 24).build()
    asked: list[bool] = []
    stopped = plan_release(workload, RHO, "mean", 3, lambda: asked.append(True) or True).summary()
    assert len(asked) <= 2
    whole = planned(users=3).summary()
    assert stopped.lower_bound_mean is not None
    assert whole.lower_bound_mean is not None
    assert 0 < stopped.lower_bound_mean < whole.lower_bound_mean


def test_what_cannot_be_planned_is_refused() -> None:
    workload = builtin_specification("prefix", 8).build()
    with pytest.raises(InvalidValue, match="releases nothing"):
        plan_release(workload, Zcdp(0))
    with pytest.raises(InvalidValue, match="at least one user"):
        plan_release(workload, RHO, users=0)
    with pytest.raises(InvalidValue, match="plan for devices"):
        plan_release(builtin_specification("prefix", 2000).build(), RHO)
