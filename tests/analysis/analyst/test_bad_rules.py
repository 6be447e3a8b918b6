"""Every bad input about classes of rules that an analyst may give, each with what is wrong and what to do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.average_case.rule_classes import means_of_table
from sordino_analysis.vectorized.domains import codes_many
from sordino_shared.errors import InvalidValue, SordinoError


def switch(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "categorical", "labels": ["off", "on"]} | more


SWITCHES = [switch(f"a{number}") for number in range(10)]
LABEL = {"name": "crashed", "kind": "categorical", "labels": ["no", "yes"]}
OF_THREE = {"name": "os", "kind": "categorical", "labels": ["linux", "mac", "other"]}
TARGET = {"attribute": "crashed", "positive": "yes"}


def asked(domain: list[dict[str, Any]] | None = None, **queries: Any) -> sa.Workload:
    fields = {"class": "conjunctions", "width": 2, "label": TARGET} | queries
    written = {name: value for name, value in fields.items() if value is not ...}
    return sa.workload({"name": "rules", "domain": domain or [*SWITCHES[:4], LABEL], "queries": written})


REFUSED = {
    "no label": ({"label": ...}, "label"),
    "a label that is not there": ({"label": TARGET | {"attribute": "crush"}}, "no attribute 'crush'"),
    "no positive member": (
        {"label": {"attribute": "crashed"}},
        "say which member of the label 'crashed' is `positive`",
    ),
    "a positive member that is not there": ({"label": TARGET | {"positive": "maybe"}}, "no and yes, not 'maybe'"),
    "a label of three members": (
        {"domain": [*SWITCHES[:2], OF_THREE], "label": {"attribute": "os", "positive": "mac"}},
        "'os' has 3 members, and a rule says yes or no: give it two members, or a range",
    ),
    "the label in over": ({"over": ["a0", "crashed"]}, "names the label 'crashed': a rule may not look at it"),
    "an attribute twice": ({"over": ["a0", "a0"]}, "'a0' twice"),
    "width 0": ({"width": 0}, "over 4 indicators is 1 to 4"),
    "a width above the indicators": ({"width": 5}, "over 4 indicators is 1 to 4"),
    "a width above 8": ({"domain": [*SWITCHES, LABEL], "width": 9}, "over 10 indicators is 1 to 8"),
    "no width": ({"width": ...}, "have a `width`: say how many"),
    "attributes of three members": (
        {"domain": [*SWITCHES[:2], OF_THREE, LABEL]},
        "'os' has 3 members, .* list the members to test for, `over: .*`, or ask for marginals",
    ),
    "missing makes a third member": (
        {"domain": [switch("a0", missing=True), *SWITCHES[1:3], LABEL]},
        "'a0' has 3 members, .* list the members to test for",
    ),
    "too many rules": (
        {"domain": [*(switch(f"b{number}") for number in range(40)), LABEL], "width": 5},
        r"the class has 2\d{7} rules, at most 1048576 can be asked: the largest width that fits is 3",
    ),
    "too many sums": (
        {"domain": [*(switch(f"b{number}") for number in range(32)), LABEL], "width": 5, "negations": False},
        r"added up in \d{7} sums, at most 4194304: the largest width that fits is 4",
    ),
    "a negative cost": ({"cost": {"miss": -1}}, "miss"),
    "a cost of 0": ({"cost": {"false_alarm": 0}}, "false_alarm"),
    "a cost that is no number": ({"cost": {"miss": math.nan}}, "miss"),
    "costs too far apart": ({"cost": {"miss": 2_000_001, "false_alarm": 1}}, r"2e\+06 times the other, at most 1e\+06"),
    "shares that sum to more than 1": ({"protocol": {"shares": [0.6, 0.3, 0.2], "top": 4}}, "above 0 and sum to 1"),
    "a share of 0": ({"protocol": {"shares": [0.6, 0.4, 0], "top": 4}}, "above 0 and sum to 1"),
    "two shares": ({"protocol": {"shares": [0.6, 0.4], "top": 4}}, "each of 3 rounds"),
    "top is the whole class": ({"protocol": {"top": 34}}, "the class has 34 rules, so `top` is less than that"),
    "one rule before the last round": ({"protocol": {"top": 1}}, "two rules at least, not 1"),
    "a bias that is not allowed or left out": ({"bias": "yes"}, "allowed"),
    "a constant query": ({"over": [{"attribute": "hour", "from": 0}]}, "every value of attribute 'hour' is from 0"),
    "a range that nobody is in": (
        {"over": [{"attribute": "hour", "from": 2, "to": 1}]},
        "no member of attribute 'hour'",
    ),
}
HOUR = {"name": "hour", "kind": "integers", "low": 0, "high": 3}


@pytest.mark.parametrize("name", REFUSED)
def test_a_class_that_cannot_be_asked_says_what_to_change(name: str) -> None:
    fields, words = REFUSED[name]
    domain = fields.get("domain", [*SWITCHES[:4], HOUR, LABEL] if "hour" in str(fields) else None)
    with pytest.raises(SordinoError, match=words):
        asked(domain, **{key: value for key, value in fields.items() if key != "domain"})


def test_parities_and_worst_case_answers_that_need_no_more_users_are_refused_with_the_users() -> None:
    switches = [switch(f"b{number}") for number in range(16)]
    for family, domain, words in (
        ("parities", switches, r"Forster's bound of 696 parities is 26.38, so .* with fewer than 4,016 users"),
        ("conjunctions", switches[:2], r"takes [\d,]+ users, and [\d,]+ give an answer that holds for each database"),
    ):
        width = 3 if family == "parities" else 1
        arranged = asked(domain, **{"class": family, "label": ..., "scheme": "arrangement", "width": width})
        with pytest.raises(InvalidValue, match=words):
            sa.plan(arranged, epsilon=1)


def test_a_rule_that_says_the_same_of_all_has_no_classes() -> None:
    with pytest.raises(InvalidValue, match="a rule that says the same of all users has no two classes"):
        means_of_table(np.ones(4, dtype=bool), (0, 1), 3)


@pytest.fixture(scope="module")
def plan() -> sa.Plan:
    return sa.plan(asked([*SWITCHES[:3], LABEL]), epsilon=1, mechanism="fourier")


def test_labels_that_are_all_the_same_leave_never_among_the_best(plan: sa.Plan) -> None:
    """No user crashed, so that never errs by nothing; with 20,000 users its loss is known to .025."""
    run = sa.simulate(plan, [("on", "off", "on", "no"), ("off", "off", "on", "no")] * 10_000, seed=1)
    found = sa.best_rules(run.plan, run.aggregate)
    assert "no rule of the class is shown to beat saying never" in found.statement
    assert "never" in found.may_be_best
    assert found.band[found.rules.index("never")][0] <= 0 <= found.band[found.rules.index("never")][1]


def test_fewer_reports_than_characters_have_bernsteins_statements_and_a_warning(plan: sa.Plan) -> None:
    run = sa.simulate(plan, [("on", "off", "on", "no")] * 6, seed=1)
    found = sa.best_rules(run.plan, run.aggregate)
    assert any("6 reports, fewer than the 7 characters" in warning for warning in found.estimate.warnings)
    assert len(found.may_be_best) == len(found.rules)


def test_missing_is_a_member_and_not_off() -> None:
    """Tested for `on` and for `off`, an attribute that is missing is neither."""
    tested = {"attribute": "a0", "members": ["on", "off"]}
    built = asked([switch("a0", missing=True), LABEL], width=1, over=[tested])
    held = [{"a0": a0, "crashed": "no"} for a0 in ("on", "off", None)]
    assert codes_many(built.domain, held)[:, :2].tolist() == [[1, 0], [0, 1], [0, 0]]
    losses = built.truth_of_codes(codes_many(built.domain, held[2:]))
    # Nobody crashed: a rule is wrong where it says yes, as `not a0=on` does of a0 that is missing.
    wrong = {text for text, loss in zip(built.labels(), losses, strict=True) if loss == 1}
    assert wrong == {"always", "not a0=on", "not a0=off"}
