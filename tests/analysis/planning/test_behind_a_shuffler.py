"""Plans for a shuffler: chosen by users, claims that an audit proves again, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sordino_analysis as sa
from sordino_analysis.analyst.plans import Plan
from sordino_analysis.documents.blanket_terms import BlanketTerms
from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.kinds.specifications import parse_question
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.requests import request_for
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.routes import PrivacyClaim

BOUND = (1, "1e-6")
TARGET = 0.02


@pytest.fixture(scope="module")
def behind() -> Plan:
    """Prefix sums over 16 bins by wavelets: a table, which is proved by the envelope."""
    return sa.plan(sa.prefix(16), 4, mechanism="haar", collector=BOUND, target_error=TARGET)


def test_the_plan_carries_its_claims_and_an_audit_proves_them(behind: Plan) -> None:
    assert behind.blanket is not None
    headline = behind.blanket.claims[behind.blanket.headline]
    assert (headline.nano_epsilon, headline.atto_delta) == (10**9, 10**12)
    checks = [check for check in behind.audit() if "random report" in check.name]
    assert len(checks) == len(behind.blanket.claims) >= 8
    assert all(check.holds for check in checks)


@pytest.mark.parametrize("change", ["one report in twenty fewer", "a delta one per cent smaller"])
def test_an_audit_refuses_what_is_not_true(behind: Plan, change: str) -> None:
    terms = behind.blanket
    assert terms is not None
    if change.startswith("one"):
        false = replace(terms, reports=terms.reports * 19 // 20)
    else:
        claims = list(terms.claims)
        claims[0] = PrivacyClaim(claims[0].nano_epsilon, claims[0].atto_delta * 99 // 100)
        false = replace(terms, claims=tuple(claims))
    changed = Plan(behind.device, replace(behind.analyst, blanket=false))
    assert not all(check.holds for check in changed.audit())


def test_the_users_are_just_enough(behind: Plan) -> None:
    users = behind.users_needed(TARGET)
    assert behind.errors(users).max() <= TARGET * (1 + 1e-9)
    assert behind.errors(users - 1).max() > TARGET
    direct = replace(behind.analyst, blanket=None)
    assert Plan(behind.device, direct).users_needed(TARGET) < users
    sizes = behind.sample_sizes(2 * TARGET)
    exact = behind.errors(sizes.most).max() * 1.959964
    assert exact == pytest.approx(2 * TARGET, rel=1e-3)
    assert sizes.band > sizes.most


def test_contenders_are_compared_by_users_and_not_by_variance() -> None:
    """The summary's own quadratic gives the users of the plan; and no contender that was evaluated takes fewer."""
    options = PlanningOptions.of(
        epsilon=4, collector={"epsilon": 0.2, "delta": 1e-6}, target_error=TARGET, effort="quick"
    )
    found = LinearRequest(sa.histogram(8), options).compile()
    summary = found.summary
    assert isinstance(summary, LinearSummary)
    assert summary.blanket is not None
    assert summary.users_needed is not None
    assert found.users_needed(TARGET) == pytest.approx(summary.users_needed, abs=1)
    for row in summary.candidates:
        if row.applies and row.name != summary.mechanism:
            own = options.model_copy(update={"mechanism": row.name})
            other = LinearRequest(sa.histogram(8), own).compile().summary
            assert isinstance(other, LinearSummary)
            assert other.users_needed is not None
            assert other.users_needed >= summary.users_needed


def test_the_predicted_reach_grows_with_the_blanket(behind: Plan) -> None:
    options = PlanningOptions.of(
        epsilon=4, mechanism="haar", collector={"epsilon": 1, "delta": "1e-6"}, target_error=TARGET
    )
    summary = LinearRequest(sa.prefix(16), options).compile().summary
    assert isinstance(summary, LinearSummary)
    plain = summary.model_copy(update={"blanket": None})
    users = behind.users_needed(TARGET)
    assert summary.reach(0.95, users) > plain.reach(0.95, users)
    within, apart = summary.users_within(0.04, 0.95, False), plain.users_within(0.04, 0.95, False)
    assert within is not None
    assert apart is not None
    assert within[0] > apart[0]
    # z standard errors of the target, by the variances of the worst query and of its random reports.
    stated = summary.users_within(1.959964 * TARGET, 0.95, False)
    assert stated is not None
    # Those of two queries together are no less than those of any one.
    assert users <= stated[0] <= 1.2 * users


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"name": "g", "domain": [{"name": "v", "kind": "ordinal", "edges": [1, 2]}],
          "statistic": {"kind": "gini_diversity"}}, "no pairwise statistic"),
    ],
)  # fmt: skip
def test_what_no_shuffler_takes_is_refused_in_one_sentence(document: dict[str, object], sentence: str) -> None:
    options = PlanningOptions.of(epsilon=4, users=1000, collector={"epsilon": 1, "delta": 1e-6}, target_error=TARGET)
    with pytest.raises(PlanError, match=sentence):
        request_for(parse_question(document), options)


def test_terms_of_a_blanket_are_checked() -> None:
    with pytest.raises(InvalidValue, match="reports of a blanket"):
        BlanketTerms(0, (PrivacyClaim(1, 10**12),), 0)
