"""Requests of one content have one digest, whatever they may take."""

import json

import pytest

from sordino_analysis.planning import planner, planning_request
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_analysis.questions.linear.specification import builtin_specification
from sordino_analysis.request_terms import Effort
from sordino_analysis.requests import StoredRequest
from sordino_server.plans.checking import quick_summary

OPTIONS = {"epsilon": 1, "objective": "max", "users": 10}
WORKLOAD = builtin("prefix", 8)
TEXT = json.dumps(builtin_specification("prefix", 8).canonical(), sort_keys=True, separators=(",", ":"))


def digests(workload=WORKLOAD, text=TEXT, **change):
    options = PlanningOptions.of(**(OPTIONS | change))
    return LinearRequest(workload, options).digest, StoredRequest(text, options).digest


def test_the_order_in_which_a_workload_is_written_changes_nothing():
    written = builtin_specification("prefix", 8).canonical()
    again = parse_specification(dict(reversed(list(written.items()))) | {"queries": "prefix"}).build()
    assert digests(again) == digests() == digests(epsilon="1.000")


def test_how_long_it_may_take_changes_nothing():
    assert digests(time_limit=3.0) == digests()


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "1.000000001"},
        {"objective": "mean"},
        {"mechanism": "factorization"},
        {"users": None},
        {"users": 11},
        {"seed": 1},
        {"reduction": 5},
        {"effort": Effort.QUICK},
    ],
)
def test_every_other_option_does(change):
    assert all(changed != before for changed, before in zip(digests(**change), digests(), strict=True))


@pytest.mark.parametrize(("kind", "size"), [("prefix", 9), ("ranges", 8)])
def test_another_workload_does(kind, size):
    assert digests(builtin(kind, size))[0] != digests()[0]


def test_another_planner_makes_another_plan(monkeypatch):
    before = digests()
    monkeypatch.setattr(planning_request, "planner_version", lambda: "another")
    assert all(changed != old for changed, old in zip(digests(), before, strict=True))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"protocol": "one_round"}, "protocol and target are of pairwise"),
        ({"mechanism": "magic"}, "there is no mechanism 'magic'; there are"),
        ({"users": 0}, "users: .*greater than or equal to 1"),
        ({"objective": "median"}, "objective: .*'max' or 'mean'"),
        ({"seed": -1, "time_limit": 0}, "seed: .*; time_limit: "),
    ],
)
def test_options_that_do_not_fit_are_refused(change, reason):
    with pytest.raises(PlanError, match=reason):
        digests(**change)


def test_a_bound_that_nobody_reads_is_not_computed(monkeypatch):
    """As for a row of the console's table of users, which takes up to a second less."""
    options = PlanningOptions.of(**OPTIONS, mechanism="randomized_response", effort=Effort.QUICK)
    whole = LinearRequest(WORKLOAD, options).compile().summary
    assert whole.drawn_manipulation is not None
    monkeypatch.setattr(planner, "DrawnManipulation", None)
    text = json.dumps(builtin_specification("prefix", 8).canonical())
    assert json.loads(quick_summary(text, options))["max_variance"] == whole.max_variance
