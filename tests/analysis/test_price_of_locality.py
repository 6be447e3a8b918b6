"""Users that the price of locality states, against the plans and guarantees that they follow from."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.curator import design
from sordino_analysis.curator.plan import plan_release
from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.documents.price_of_locality import PriceOfLocality, UsersUnderTrust
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.guarantees.approximate import DELTA, approximate_of
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.price_of_locality import price_of_locality
from sordino_analysis.questions.linear import Workload
from sordino_analysis.request_terms import Objective
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.shuffling.claims import claimed
from sordino_shared.shuffling.laws import loss_of
from sordino_shared.shuffling.profile import delta_of


def priced(
    workload: Workload, target: float, objective: Objective = "max", mechanism: str = "haar", delta: Fraction = DELTA
) -> tuple[LinearSummary, PriceOfLocality]:
    options = PlanningOptions.of(epsilon=1, objective=objective, mechanism=mechanism, effort="quick")
    summary = LinearRequest(workload, options).compile().summary
    assert isinstance(summary, LinearSummary)
    return summary, price_of_locality(workload, summary, target, delta)


def check_blanket(workload: Workload, objective: Objective, row: UsersUnderTrust) -> None:
    """The named mechanism at the named ε is hidden by the stated reports and not by 1 % less, and has the error."""
    assert row.device_epsilon is not None
    assert row.blanket is not None
    plan = sa.plan(workload, row.device_epsilon, objective=objective, mechanism=row.mechanism)
    law = loss_of(plan.device.randomizer, math.e)
    assert claimed(delta_of(law, row.blanket)) <= DELTA < claimed(delta_of(law, row.blanket * 99 // 100 - 1))
    by_type = answer_moments(plan.device.randomizer, plan.analyst.decoder, workload).type_variances()
    own = by_type.max(axis=1) if objective == "max" else by_type.mean(axis=0).max()
    added = by_type.mean(axis=1) + workload.operator.take(np.arange(workload.queries)).var(axis=1)
    assert row.users is not None
    noise = row.blanket * (added if objective == "max" else added.mean())
    error = math.sqrt((own / row.users + noise / row.users**2).max())
    # Users are whole.
    assert error == pytest.approx(0.02, rel=5e-3)


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_each_row_is_enough_for_the_error_and_the_privacy(objective: Objective) -> None:
    summary, price = priced(sa.prefix(6), 0.02, objective)
    local, shuffled, blanket, curator = price.rows
    assert local.users == math.ceil(summary.answer_variance / 0.02**2)
    assert shuffled.device_epsilon is not None
    # The mechanism that is named, at the ε that is named, with the users that are stated.
    plan = sa.plan(sa.prefix(6), shuffled.device_epsilon, objective=objective, mechanism=shuffled.mechanism)
    assert plan.users_needed(0.02) == shuffled.users_for_error
    assert shuffled.users == max(shuffled.users_for_error or 0, shuffled.users_for_privacy or 0)
    assert plan.shuffled(shuffled.users, fake=0).epsilon <= 1 + 1e-4
    assert plan.shuffled((shuffled.users_for_privacy or 0) * 9 // 10, fake=0).epsilon > 1
    # Pure ε has less noise here than Gaussian noise at δ = 1e-6.
    assert curator.rho is None
    release = plan_release(sa.prefix(6), PureEpsilon.of("1"), objective).summary()
    error = math.sqrt(release.max_variance if objective == "max" else release.mean_variance)
    assert curator.users == math.ceil(error / 0.02)
    assert blanket.users is not None
    assert curator.users < min(shuffled.users, blanket.users)
    assert local.users > max(shuffled.users, blanket.users)
    check_blanket(sa.prefix(6), objective, blanket)


def test_a_curator_takes_the_noise_that_is_less() -> None:
    """Gaussian noise at a large δ, of a ρ that is proved to imply (ε, δ)."""
    _, price = priced(sa.prefix(6), 0.02, delta=Fraction(1, 10))
    curator = price.rows[3]
    assert curator.rho is not None
    guarantee = Zcdp.of(str(curator.rho))
    assert approximate_of(guarantee, Fraction(1, 10)).nano_epsilon <= 10**9
    release = plan_release(sa.prefix(6), guarantee, price.objective).summary()
    assert curator.users == math.ceil(math.sqrt(release.max_variance) / 0.02)


def test_locality_costs_a_square() -> None:
    """Ten times less error takes a hundred times the devices, and ten times the rows of a curator."""
    (_, coarse), (_, fine) = (priced(sa.histogram(8), target, mechanism="subset_selection") for target in (0.02, 0.002))
    ratios = [(after.users or 0) / (before.users or 1) for before, after in zip(coarse.rows, fine.rows, strict=True)]
    assert ratios[0] == pytest.approx(100, rel=1e-3)
    assert 10 <= ratios[1] < 100
    # The more users there are, the less the same blanket weighs.
    assert 10 <= ratios[2] < 100
    assert ratios[3] == pytest.approx(10, rel=0.01)


def test_few_users_are_as_many_shuffled_as_locally() -> None:
    _, price = priced(sa.histogram(8), 0.4, mechanism="subset_selection")
    local, shuffled, blanket, _ = price.rows
    assert (blanket.users or 0) <= (local.users or 0)
    assert shuffled.users == local.users
    assert shuffled.device_epsilon == 1
    assert "as many as locally" in (shuffled.reason or "")


@pytest.mark.parametrize(("types", "most"), [(41, 40), pytest.param(1100, None, marks=pytest.mark.slow)])
def test_too_many_types_for_a_curator_are_a_reason_and_no_number(
    monkeypatch: pytest.MonkeyPatch, types: int, most: int | None
) -> None:
    """With the limit as it is, and with one that takes a tenth of the time."""
    monkeypatch.setattr(design, "MAX_TYPES", most or design.MAX_TYPES)
    summary, _ = priced(sa.prefix(4), 0.05)
    price = price_of_locality(sa.histogram(types), summary, 0.01)
    assert price.rows[3].users is None
    assert f"{design.MAX_TYPES} types" in (price.rows[3].reason or "")


def test_a_smaller_delta_takes_more_users_of_a_shuffler_and_a_curator() -> None:
    (_, usual), (_, strict) = (priced(sa.prefix(8), 0.05, delta=delta) for delta in (DELTA, Fraction(1, 10**9)))
    assert strict.rows[0] == usual.rows[0]
    assert (strict.rows[2].users or 0) > (usual.rows[2].users or 0)


def test_what_has_no_price_is_refused() -> None:
    summary, _ = priced(sa.prefix(4), 0.1)
    for target in (0.0, -1.0, math.nan):
        with pytest.raises(PlanError, match="target error"):
            price_of_locality(sa.prefix(4), summary, target)
    with pytest.raises(InvalidValue, match="δ must be"):
        price_of_locality(sa.prefix(4), summary, 0.1, Fraction(1))


def test_a_blanket_that_takes_more_than_locality_is_not_named() -> None:
    """For so coarse an error the random reports alone would add more noise."""
    _, price = priced(sa.histogram(8), 0.9, mechanism="subset_selection")
    local, _, blanket, _ = price.rows
    assert (blanket.users, blanket.blanket) == (local.users, None)
    assert "as many as locally" in (blanket.reason or "")
