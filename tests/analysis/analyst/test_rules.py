"""`best_rules`: the statements of a class of rules for an analyst."""

from __future__ import annotations

import numpy as np
import pytest

import sordino_analysis as sa

DOMAIN = [
    {"name": "hour", "kind": "integers", "low": 0, "high": 3},
    {"name": "carrier", "kind": "categorical", "labels": ["B6", "DL", "UA"]},
    {"name": "delay", "kind": "ordinal", "edges": [15]},
]
QUERIES = {
    "class": "conjunctions",
    "width": 1,
    "over": [{"attribute": "carrier", "members": ["DL"]}, {"attribute": "hour", "from": 2}],
    "label": {"attribute": "delay", "from": 15},
}


@pytest.fixture(scope="module")
def plan() -> sa.Plan:
    asked = sa.workload({"name": "late", "domain": DOMAIN, "queries": QUERIES})
    return sa.plan(asked, epsilon=1, mechanism="fourier")


def test_rules_go_by_their_losses_and_the_table_says_which_may_be_the_best(plan: sa.Plan, tmp_path) -> None:
    file = tmp_path / "late.csv"
    file.write_text("hour,carrier,delay\n" + "0,B6,3\n3,UA,60\n2,DL,20\n1,DL,2\n" * 5000, encoding="utf-8")
    run = sa.simulate(plan, sa.read_csv(file, plan), seed=1)
    found = sa.best_rules(plan, run.aggregate)
    # The loss of the planted rule is 0 and that of every other .5, ten standard errors of a difference at least.
    assert found.chosen == "hour > 1"
    assert found.may_be_best == ["hour > 1"]
    assert found.beats_base
    assert 0 <= found.excess < 0.25
    assert found.statement == "hour > 1 is the best of 6 rules, and beats never and always"
    columns = found.columns()
    assert sorted(columns["label"]) == sorted(plan.workload.labels())
    assert columns["value"] == sorted(columns["value"])
    assert columns["may_be_best"] == [True] + [False] * 5
    assert np.allclose(found.band.mean(axis=1), found.losses)
    assert found.statement in repr(found)
    assert "hour &gt; 1 is the best of 6 rules" in found._repr_html_()


def test_a_plan_of_other_queries_has_no_rules() -> None:
    plan = sa.plan(sa.histogram(3), epsilon=1)
    with pytest.raises(sa.EstimationError, match="no concept class"):
        sa.best_rules(plan, sa.Aggregate(3, np.array([1, 1, 1])))
