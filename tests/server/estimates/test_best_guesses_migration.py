"""Stored answers of the nearest histogram become best guesses, of estimates and of releases, and go back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from sordino_analysis.kinds.reading import read_estimate
from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from tests.conftest import StoredRound
from tests.server.curator.test_document import document as released

BEFORE = "202611271540"
LINEAR: dict[str, Any] = {
    "kind": "linear",
    "terms": {
        "campaign_id": "aa", "users": 10, "unlisted": 0, "compared": 2, "epsilon": 1.0, "level": 0.95,
        "bias_bound": 0.0, "target": "reporters", "validity": "worst_case", "mechanism": "m",
        "plan_device": "d", "plan_analyst": "a",
    },
    "table": {
        "kind": ["prefix"], "label": ["delay ≤ 15 min"], "delay_high": [15.0], "unit": ["share"], "value": [0.5],
        "uncut": [0.5], "standard_error": [0.01], "lower": [0.4], "upper": [0.6], "band_lower": [0.3],
        "band_upper": [0.7], "consistent": [0.5], "coverage": [0.95],
    },
    "extras": {
        "warnings": [], "sources": [], "workload": "w", "objective": "max", "unbiased": True,
        "predicted_rmse_max": 0.1,
    },
}  # fmt: skip


def compact(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def former(content: bytes) -> bytes:
    """As the version before wrote a document without cut intervals."""
    return content.replace(b'"best":', b'"consistent":')


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_former_answers_have_best_guesses_and_go_back(
    engine: str, request: pytest.FixtureRequest, store_round: Callable[..., StoredRound]
) -> None:
    database = Database(request.getfixturevalue(f"migrated_{engine}_url"))
    round_id, release = store_round(database).id, former(released("replace").content())
    migrations.downgrade(database, BEFORE)
    with database.write("former answers") as session:
        session.execute(
            text("INSERT INTO estimates (round_id, content, created_at) VALUES (:id, :content, 0)"),
            {"id": round_id, "content": compact(LINEAR)},
        )
        if engine == "sqlite":
            session.execute(text("PRAGMA defer_foreign_keys = ON"))
        for statement in _RELEASE:
            session.execute(text(statement), {"content": release, "digest": hashlib.sha256(release).hexdigest()})
    migrations.upgrade(database)
    estimate, made = _contents(database)
    # Columns stay in their order, so that a document reads back to its own bytes.
    assert read_estimate(estimate).content() == estimate
    assert (read_estimate(estimate).table.cells("best"), made) == ([0.5], released("replace").content())
    migrations.downgrade(database, BEFORE)
    assert _contents(database) == (compact(LINEAR), release)
    database.close()


def test_what_is_new_is_left_out_on_the_way_back(
    migrated_sqlite_url: str, store_round: Callable[..., StoredRound]
) -> None:
    """The version before reads no column and no field that it does not know."""
    database = Database(migrated_sqlite_url)
    round_id = store_round(database).id
    table = {("best" if name == "consistent" else name): cells for name, cells in LINEAR["table"].items()}
    new = LINEAR | {"table": table | {"cut": [True]}, "extras": LINEAR["extras"] | {"best_error": 0.3}}
    with database.write("new answers") as session:
        session.execute(
            text("INSERT INTO estimates (round_id, content, created_at) VALUES (:id, :content, 0)"),
            {"id": round_id, "content": compact(new)},
        )
    migrations.downgrade(database, BEFORE)
    with database.read("estimate") as session:
        assert bytes(session.scalars(text("SELECT content FROM estimates")).one()) == compact(LINEAR)
    database.close()


_RELEASE = (
    "INSERT INTO workloads (id, name, specification, queries, created_at, kind)"
    " VALUES ('w', 'n', '{}', 1, 0, 'linear')",
    "INSERT INTO datasets (id, name, terms, account, cap_nano, version, created_at)"
    " VALUES ('d', 'flights', '{}', 'rho', 9, 1, 7)",
    "INSERT INTO releases (id, dataset_id, workload_id, key, objective, kind, nano, state, attempts, created_at,"
    " content, digest) VALUES ('r', 'd', 'w', 'k', 'mean', 'zcdp', 3, 'released', 1, 7, :content, :digest)",
    # One without answers yet.
    "INSERT INTO releases (id, dataset_id, workload_id, key, objective, kind, nano, state, attempts, created_at)"
    " VALUES ('s', 'd', 'w', 'l', 'mean', 'zcdp', 3, 'failed', 1, 7)",
)


def _contents(database: Database) -> tuple[bytes, bytes]:
    with database.read("answers") as session:
        estimate = bytes(session.scalars(text("SELECT content FROM estimates")).one())
        content, digest = session.execute(text("SELECT content, digest FROM releases WHERE id = 'r'")).one()
    assert hashlib.sha256(bytes(content)).hexdigest() == digest
    return estimate, bytes(content)
