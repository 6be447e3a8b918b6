"""Requests of one content have one digest, whatever they may take."""

from dataclasses import replace

import pytest

from sordino_analysis.mechanisms import request as request_module
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_analysis.request_terms import Effort
from sordino_shared.guarantees import PureEpsilon

REQUEST = PlanRequest(builtin("prefix", 8), PureEpsilon.of(1), "max", users=10)


def test_the_order_in_which_a_workload_is_written_changes_nothing():
    written = REQUEST.workload.specification
    again = parse_specification(dict(reversed(list(written.items()))) | {"queries": "prefix"}).build()
    assert replace(REQUEST, workload=again).digest == REQUEST.digest
    assert replace(REQUEST, guarantee=PureEpsilon.of("1.000")).digest == REQUEST.digest


def test_how_long_it_may_take_changes_nothing():
    assert replace(REQUEST, time_limit=3.0).digest == REQUEST.digest


@pytest.mark.parametrize(
    "change",
    [
        {"workload": builtin("prefix", 9)},
        {"workload": builtin("ranges", 8)},
        {"guarantee": PureEpsilon.of("1.000000001")},
        {"objective": "mean"},
        {"mechanism": "factorization"},
        {"users": None},
        {"users": 11},
        {"seed": 1},
        {"reduction": 5},
        {"effort": Effort.QUICK},
    ],
)
def test_everything_else_does(change):
    assert replace(REQUEST, **change).digest != REQUEST.digest


def test_another_planner_makes_another_plan(monkeypatch):
    before = REQUEST.digest
    monkeypatch.setattr(request_module, "planner_version", lambda: "another")
    assert REQUEST.digest != before
