"""The chain of the audit log holds, and breaks where an entry was changed or removed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from sordino_server.cli import app
from sordino_server.keys import audit_chain
from sordino_server.kit import migrations
from sordino_server.models import Role

Run = Callable[..., Any]


@pytest.fixture(params=["running", "running_on_postgres"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def verified(server: Any, *more: str, code: int = 0) -> Any:
    environment = {"SORDINO_SERVER": server.address, "SORDINO_KEY": server.admin_key, "COLUMNS": "300"}
    done = CliRunner().invoke(app, ["audit-log", "verify", *more, "--json"], env=environment)
    assert done.exit_code == code, done.output
    return json.loads(done.stdout) if code == 0 else " ".join(done.stderr.split())


def change(server: Any, count: int = 1) -> None:
    for number in range(count):
        body = {"name": f"key {number}", "role": "analyst"}
        server.api.post("/v1/keys", json=body).raise_for_status()


def written(server: Any, statement: str) -> None:
    """A change by somebody who owns the database, and takes its triggers away."""
    with server.database.write("forge") as session:
        if server.database.is_sqlite:
            for name in session.scalars(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).all():
                if name.startswith(("audit_log", "audit_chain")):
                    session.execute(text(f"DROP TRIGGER {name}"))
        else:
            session.execute(text("SET LOCAL session_replication_role = replica"))
        session.execute(text(statement))


def test_a_worker_chains_what_operators_changed(server: Any) -> None:
    empty = {"holds": True, "entries": 0, "waiting": 0, "head": audit_chain.START, "published": None, "lost": []}
    assert verified(server) == empty
    change(server, 3)
    assert verified(server)["waiting"] == 3
    server.worker().purge()
    first = verified(server)
    assert (first["entries"], first["waiting"]) == (3, 0)
    change(server, 2)
    server.worker().purge()
    second = verified(server, "--head", first["head"].upper())
    assert "64" in verified(server, "--head", first["head"][:-1], code=2)
    assert second["entries"] == 5
    assert second["head"] != first["head"]
    assert audit_chain.extend(server.database) == 0


@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE audit_log SET action = 'list keys' WHERE id = (SELECT MIN(id) + 1 FROM audit_log)",
        "UPDATE audit_log SET actor = 'key:somebody else' WHERE id = (SELECT MIN(id) + 1 FROM audit_log)",
        "UPDATE audit_log SET request_id = 'x' WHERE id = (SELECT MIN(id) + 1 FROM audit_log)",
        "UPDATE audit_log SET created_at = created_at + 1 WHERE id = (SELECT MIN(id) + 1 FROM audit_log)",
    ],
)
def test_a_changed_entry_breaks_the_chain(server: Any, forgery: str) -> None:
    change(server, 3)
    server.worker().purge()
    written(server, forgery)
    assert "the chain breaks at entry" in verified(server, code=1)


def test_a_shortened_log_is_found_by_a_head_from_before(running: Any) -> None:
    change(running, 3)
    running.worker().purge()
    head = verified(running)["head"]
    written(running, "DELETE FROM audit_chain WHERE entry_id = (SELECT MAX(entry_id) FROM audit_chain)")
    written(running, "DELETE FROM audit_log WHERE id = (SELECT MAX(id) FROM audit_log)")
    assert verified(running)["entries"] == 2
    assert "the chain has no head" in verified(running, "--head", head, code=1)


def test_the_database_refuses_to_change_a_link(server: Any) -> None:
    change(server)
    server.worker().purge()
    for statement in ("UPDATE audit_chain SET sha256 = 'x'", "DELETE FROM audit_chain"):
        with pytest.raises(Exception, match="append-only"), server.database.write("forge") as session:
            session.execute(text(statement))


def test_caps_have_what_they_were_and_the_shell_has_its_user(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/v1/populations"
    made = running.api.post(path, json={"name": "users", "epsilon_lifetime": 3}).raise_for_status().json()["id"]
    change = {"epsilon_lifetime": 4}
    headers = {"If-Match": '"1"', "X-Request-Id": "ticket-7"}
    running.api.patch(f"{path}/{made}", json=change, headers=headers).raise_for_status()
    entry = running.api.get("/v1/audit-log").json()["entries"][0]
    assert (entry["actor"], entry["actor_recorded"], entry["request_id"]) == ("key:test", True, "ticket-7")
    assert json.loads(entry["before"])["lifetime_nano"] == 3 * 10**9
    assert json.loads(entry["after"])["lifetime_nano"] == 4 * 10**9
    monkeypatch.setenv("SORDINO_DATABASE_URL", running.database.url.render_as_string(hide_password=False))
    monkeypatch.setattr("os.getuid", lambda: 4711)
    runner = CliRunner()
    made = runner.invoke(app, ["keys", "create", "--role", "analyst", "--name", "a", "--json"])
    assert made.exit_code == 0, (made.output, made.exception)
    created = json.loads(made.stdout)
    turned = json.loads(runner.invoke(app, ["keys", "rotate", created["id"], "--json"]).stdout)
    runner.invoke(app, ["keys", "revoke", created["id"]])
    entries = running.api.get("/v1/audit-log").json()["entries"][:3]
    assert [(each["action"], each["actor"]) for each in entries] == [
        ("revoke key", "shell:4711"),
        ("rotate key", "shell:4711"),
        ("create key", "shell:4711"),
    ]
    assert entries[1]["path"] == f"/v1/keys/{turned['id']}"
    assert {each["request_id"] for each in entries} == {None}
    assert created["expires_at"] - created["created_at"] == 365 * 86400


def test_entries_of_versions_before_are_chained_as_they_are(running: Any) -> None:
    change(running, 2)
    migrations.downgrade(running.database, "202611271950", lose={"audit_chain"})
    migrations.upgrade(running.database)
    change(running)
    running.worker().purge()
    assert verified(running)["entries"] == 3
    newest, *older = running.api.get("/v1/audit-log").json()["entries"]
    assert newest["actor_recorded"]
    assert not any(each["actor_recorded"] for each in older)
    assert {each["actor"] for each in older} == {"key:test"}


def test_a_head_without_verify_is_refused(running: Any) -> None:
    environment = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.key(Role.ADMIN)}
    done = CliRunner().invoke(app, ["audit-log", "--head", "0" * 64], env=environment)
    assert done.exit_code == 2
