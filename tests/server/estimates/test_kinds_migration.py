"""Former estimates become readable and go back; workloads and campaigns get their kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from sordino_analysis.kinds.reading import read_estimate
from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from tests.conftest import StoredRound
from tests.estimates import answers_of, facts_of

# Before estimates had a kind, and before they had a table.
OLDEST, BEFORE = "202611222330", "202611270000"
PLAN = {"device": "d", "analyst": "a"}
BOUND = {"attribute": "delay", "low": None, "high": 15.0, "label": None, "unit": "min"}
QUERY: dict[str, Any] = {
    "label": "delay ≤ 15 min",
    "kind": "prefix",
    "bounds": [BOUND],
    "unit": "share",
    "value": 0.5,
    "uncut": 0.5,
    "standard_error": 0.01,
    "interval": [0.4, 0.6],
    "band": [0.3, 0.7],
    "population_standard_error": 0.02,
    "population_interval": [0.4, 0.6],
    "consistent": 0.5,
    "coverage": {"interval": 0.95, "population_interval": 0.94, "enough_reports": None},
}
LINEAR: dict[str, Any] = {
    "campaign": "aa",
    "plan": PLAN,
    "rounds": [0],
    "workload": "w",
    "mechanism": "m",
    "objective": "max",
    "users": 10,
    "epsilon": 1.0,
    "level": 0.95,
    "target": "reporters",
    "validity": "worst_case",
    "unbiased": True,
    "bias_bound": 0.0,
    "warnings": ["one", "two"],
    "predicted_rmse_max": 0.1,
    "queries": [QUERY, QUERY | {"label": "other", "kind": "", "unit": "", "bounds": [], "coverage": None}],
    "unlisted": 0,
    "compared": 3,
    "sources": [],
}
PAIRWISE: dict[str, Any] = {
    "campaign": "aa",
    "protocol": {"name": "one_round", "digest": "d"},
    "rounds": [
        {"index": index, "plan": PLAN, "epsilon": 1.0, "users": users, "expected_users": 5.0}
        for index, users in enumerate((4, 5))
    ],
    "statistic": "τ",
    "value": None,
    "target": "pairs",
    "standard_error": None,
    "interval": [0.0, 1.0],
    "population_standard_error": None,
    "population_interval": [0.0, 1.0],
    "level": 0.95,
    "validity": "doubtful",
    "bias_bound": None,
    "unbiased": False,
    "forms": [{"name": "f", "value": 0.5}],
    "clipped": None,
    "epsilon": 1.0,
    "predicted_rmse": 0.1,
    "warnings": [],
    "sources": [],
}
RULES = [{"number": number, "text": name, "width": 0} for number, name in enumerate(("never", "always", "age > 18"))]
CONCEPTS: dict[str, Any] = {
    **{name: LINEAR[name] for name in ("campaign", "plan", "rounds", "workload", "mechanism", "users", "epsilon")},
    "kind": "concepts",
    "rule": RULES[2],
    "loss": 0.1,
    "band": [0.0, 0.2],
    "interval": None,
    "certified_by_round": None,
    "base": {"rule": RULES[0], "loss": 0.3, "band": [0.2, 0.4]},
    "excess_at_most": 0.05,
    "bias_bound": 0.0,
    "beats_base": True,
    "statement": "so it is",
    "confidence_set": {"size": 1, "rules": [RULES[2]], "truncated": False},
    "concepts": 3,
    "rules": [
        {
            "rule": rule,
            "loss": loss,
            "standard_error": 0.01,
            "band": [loss - 0.1, loss + 0.1],
            "may_be_best": loss < 0.2,
        }
        for rule, loss in ((RULES[2], 0.1), (RULES[0], 0.3), (RULES[1], 0.7))
    ],
    "class_of_rules": {
        "family": "intervals",
        "positive": 1,
        "miss": 1.0,
        "false_alarm": 1.0,
        "bias_allowed": False,
        "texts": [rule["text"] for rule in RULES],
        "widths": [0, 0, 1],
    },
    "all_losses": {
        "loss": [0.3, 0.7, 0.1],
        "standard_error": [0.01] * 3,
        "band_reach": [0.1] * 3,
        "may_be_best": [False, False, True],
    },
    "target": "population",
    "validity": "worst_case",
    "users_by_round": [10],
    "level": 0.95,
    "warnings": [],
    "sources": [],
}


def canonical(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_former_estimates_become_readable_and_go_back(
    engine: str, request: pytest.FixtureRequest, store_round: Callable[..., StoredRound]
) -> None:
    # One round drawn by each device, and every round answered by each.
    contents = [canonical(each) for each in (LINEAR, PAIRWISE, PAIRWISE | {"epsilon": 2.0})]
    database = Database(request.getfixturevalue(f"migrated_{engine}_url"))
    numbers = [store_round(database).id for _ in contents]
    migrations.downgrade(database, OLDEST)
    _store(database, dict(zip(numbers, contents, strict=True)))
    migrations.upgrade(database)
    linear, drawn, every = (read_estimate(_content(database, each)) for each in numbers)
    assert (linear.kind, linear.users, linear.table.cells("delay_high")) == ("linear", 10, [15.0, None])
    assert (drawn.kind, drawn.users, every.users) == ("pairwise", 9, 5)
    assert drawn.table.cells("warnings") == [None]
    migrations.downgrade(database, OLDEST)
    assert [json.loads(_content(database, each)) for each in numbers] == [json.loads(each) for each in contents]
    database.close()


@pytest.mark.parametrize("every", [True, False], ids=["all rules", "listed rules"])
def test_rules_of_former_estimates_are_all_there(
    every: bool, migrated_sqlite_url: str, store_round: Callable[..., StoredRound]
) -> None:
    """A document listed at most 1,000 of its rules beside all losses; here one of three."""
    database = Database(migrated_sqlite_url)
    number = store_round(database).id
    migrations.downgrade(database, BEFORE)
    _store(database, {number: canonical(CONCEPTS | ({"rules": CONCEPTS["rules"][:1]} if every else {}))})
    migrations.upgrade(database)
    content = _content(database, number)
    assert json.loads(read_estimate(content).content()) == json.loads(content)
    document = json.loads(content)
    rows, facts = answers_of(document), facts_of(document)
    assert [(row["label"], row["value"]) for row in rows] == [("never", 0.3), ("always", 0.7), ("age > 18", 0.1)]
    assert [row["may_be_best"] for row in rows] == [False, False, True]
    assert (facts["users_by_round"], facts["compared"], facts["statement"]) == ("10", 3, "so it is")
    database.close()


def test_workloads_and_campaigns_get_their_kind(
    migrated_sqlite_url: str, store_round: Callable[..., StoredRound]
) -> None:
    database = Database(migrated_sqlite_url)
    campaigns = [store_round(database).campaign for _ in range(4)]
    migrations.downgrade(database, BEFORE)
    asked = {
        "pairwise": {"statistic": {"kind": "gini_diversity"}},
        "concepts": {"queries": {"class": "conjunctions", "label": {"attribute": "a"}}},
        "linear": {"queries": {"class": "prefix", "label": "histogram"}},
    }
    with database.write("old rows") as session:
        for (kind, specification), campaign in zip(asked.items(), campaigns, strict=False):
            session.execute(
                text("INSERT INTO workloads (id, name, specification, queries, created_at) VALUES (:i, 'n', :s, 1, 0)"),
                {"i": kind.ljust(64, "0"), "s": json.dumps(specification)},
            )
            session.execute(
                text("UPDATE campaigns SET question = :question WHERE id = :campaign"),
                {"question": json.dumps({"workload": kind.ljust(64, "0")}), "campaign": campaign},
            )
    migrations.upgrade(database)
    with database.read("kinds") as session:
        workloads = {row.id: row.kind for row in session.execute(text("SELECT id, kind FROM workloads"))}
        found = {row.id: row.kind for row in session.execute(text("SELECT id, kind FROM campaigns"))}
    assert workloads == {kind.ljust(64, "0"): kind for kind in asked}
    # Nothing says what the last one asks: a collector's rows are like that.
    assert [found[campaign] for campaign in campaigns] == [*asked, None]
    database.close()


def _store(database: Database, contents: dict[int, bytes]) -> None:
    statement = text("INSERT INTO estimates (round_id, content, created_at) VALUES (:number, :content, 0)")
    with database.write("old estimates") as session:
        for number, content in contents.items():
            session.execute(statement, {"number": number, "content": content})


def _content(database: Database, number: int) -> bytes:
    with database.read("estimate") as session:
        found = session.execute(text("SELECT content FROM estimates WHERE round_id = :number"), {"number": number})
        return bytes(found.scalar_one())
