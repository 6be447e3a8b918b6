"""The sentences of an estimate over REST, in lists without an estimate being read, and for estimates of before."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from sordino_analysis.answers.headline import Headline
from sordino_analysis.kinds.reading import read_estimate
from sordino_analysis.kinds.registry import kind_named
from sordino_server.answers.finding import fill_headlines
from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from sordino_shared.protocol import Problem
from tests.conftest import StoredRound
from tests.server.answers.test_comparisons_api import Check
from tests.server.estimates.test_best_guesses_migration import LINEAR, compact

BEFORE = "202611272345"


def test_rest_tells_what_the_command_line_prints(running: Any, check_problem: Check) -> None:
    campaign = running.campaign("open")["id"]
    path = f"/v1/campaigns/{campaign}/finding"
    check_problem(running.api.get(path), Problem.ESTIMATE_NOT_READY)
    assert running.api.get(f"/v1/campaigns/{campaign}/status").json()["headline"] is None
    running.report({"id": campaign}, [0] * 60 + [1] * 30 + [3] * 10)
    running.api.post(f"/v1/campaigns/{campaign}/close").raise_for_status()
    running.work()
    found = running.api.get(path).json()
    estimate = read_estimate(running.api.get(f"/v1/campaigns/{campaign}/estimates").content)
    assert found["sentences"] == list(kind_named(estimate.kind).statements(estimate))
    assert found["headline"] == found["sentences"][0]
    assert found["sentences"][1 : 1 + len(found["others"])] == found["others"]
    listed = running.api.get("/v1/campaigns").json()["campaigns"]
    assert [each["headline"] for each in listed if each["id"] == campaign] == [found["headline"]]
    assert running.anonymous.get(path).status_code == 401


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_estimates_of_before_get_their_headline(
    engine: str, request: pytest.FixtureRequest, store_round: Callable[..., StoredRound]
) -> None:
    database = Database(request.getfixturevalue(f"migrated_{engine}_url"))
    round_id = store_round(database).id
    migrations.downgrade(database, BEFORE)
    with database.write("an estimate of before") as session:
        table = {"best" if name == "consistent" else name: cells for name, cells in LINEAR["table"].items()}
        content = compact(LINEAR | {"table": table})
        values = {"id": round_id, "content": content}
        session.execute(text("INSERT INTO estimates (round_id, content, created_at) VALUES (:id, :content, 0)"), values)
    migrations.upgrade(database)
    assert fill_headlines(database) == 1
    assert fill_headlines(database) == 0
    with database.read("headline") as session:
        stored = session.scalars(text("SELECT headline FROM campaigns WHERE headline IS NOT NULL")).one()
    assert Headline.model_validate_json(stored).number == "50 % ± 20"
    # One that cannot be read stays without, and stops nobody.
    with database.write("an estimate of a kind that is not installed") as session:
        session.execute(text("UPDATE campaigns SET headline = NULL"))
        unknown = json.loads(content) | {"kind": "elsewhere"}
        session.execute(text("UPDATE estimates SET content = :content"), {"content": compact(unknown)})
    assert fill_headlines(database) == 0
    database.close()
