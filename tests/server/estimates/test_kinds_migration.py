"""Estimates that were stored before they said of which kind they are become readable, and go back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from sordino_server.estimates import repository
from sordino_server.estimates.schemas import PairwiseDocument
from sordino_server.estimates.stored_estimate import read_estimate
from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from sordino_server.models import Estimate
from tests.conftest import StoredRound
from tests.server.estimates.test_stored_estimate import LINEAR, stored

BEFORE = "202611222330"
PAIRWISE: dict[str, Any] = {
    "campaign": "aa",
    "protocol": {"name": "one_round", "digest": "d"},
    "rounds": [
        {"index": index, "plan": LINEAR["plan"], "epsilon": 1.0, "users": users, "expected_users": 5.0}
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
    "forms": [],
    "clipped": None,
    "epsilon": 1.0,
    "predicted_rmse": 0.1,
    "warnings": [],
    "sources": [],
}


def canonical(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_old_estimates_get_their_kind(
    engine: str, request: pytest.FixtureRequest, store_round: Callable[..., StoredRound]
) -> None:
    old = json.loads(stored(3))
    del old["kind"]
    # One round drawn by each device, and every round answered by each.
    contents = [canonical(each) for each in (old, PAIRWISE, PAIRWISE | {"epsilon": 2.0})]
    database = Database(request.getfixturevalue(f"migrated_{engine}_url"))
    numbers = [store_round(database).id for _ in contents]
    with database.write("old estimates") as session:
        for each, content in zip(numbers, contents, strict=True):
            session.add(Estimate(round_id=each, content=content, created_at=0))
    migrations.downgrade(database, BEFORE)
    assert [_content(database, each) for each in numbers] == contents
    migrations.upgrade(database)
    linear, drawn, every = (read_estimate(_content(database, each)) for each in numbers)
    assert (linear.kind, linear.content()) == ("linear", stored(3))
    assert isinstance(drawn, PairwiseDocument)
    assert isinstance(every, PairwiseDocument)
    assert (drawn.kind, drawn.users, every.users) == ("pairwise", 9, 5)
    migrations.downgrade(database, BEFORE)
    assert [_content(database, each) for each in numbers] == contents
    database.close()


def _content(database: Database, number: int) -> bytes:
    with database.read("estimate") as session:
        content = repository.find(session, number)
    assert content is not None
    return content
