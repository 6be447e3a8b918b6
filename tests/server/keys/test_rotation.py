"""Rotation overlaps, people's keys end by default, and of twelve revocations at once one admin stays."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino_server.cli import app
from sordino_server.cli.kept_defaults import warn_of_ending_keys
from sordino_server.errors import ServerError
from sordino_server.keys import service
from sordino_server.kit.db import Database
from sordino_server.kit.logs import configure_logs
from sordino_server.models import Key, Role
from sordino_shared.protocol import Problem

DAY_S = 86400
Check = Callable[..., dict[str, Any]]


@pytest.fixture(params=["running", "running_on_postgres"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def rotated(server: Any, identifier: str, overlap_s: int) -> service.NewKey:
    with server.database.write("rotate") as session:
        return service.rotate(session, identifier, server.clock.now(), overlap_s)


def test_both_keys_open_until_the_overlap_is_over(running: Any, check_problem: Check) -> None:
    campaign = running.campaign()["id"]
    body = {"name": "token", "role": "uploader", "campaign": campaign}
    old = running.api.post("/v1/keys", json=body).raise_for_status().json()
    new = rotated(running, old["id"], DAY_S)
    assert (new.key.name, new.key.role, new.key.campaign_id, new.key.expires_at) == (
        "token",
        "uploader",
        campaign,
        None,
    )

    def opens(text: str) -> bool:
        try:
            with running.database.read() as session:
                service.authenticate_uploader(session, text, campaign, running.clock.now())
        except ServerError as error:
            return error.problem is not Problem.UNAUTHORIZED
        return True

    running.clock.advance(DAY_S - 1)
    assert opens(old["key"])
    assert opens(new.text)
    running.clock.advance(1)
    assert not opens(old["key"])
    assert opens(new.text)
    with pytest.raises(ServerError, match="opens nothing any more"):
        rotated(running, old["id"], 60)


def test_a_successor_lasts_as_long_and_knows_what_was_answered(running: Any) -> None:
    made = running.api.post("/v1/keys", json={"name": "Ada", "role": "analyst"}).raise_for_status().json()
    running.clock.advance(300 * DAY_S)
    headers = {"Idempotency-Key": "once"}
    with running.client(made["key"]) as ada:
        first = ada.post("/v1/workloads", json=WORKLOAD, headers=headers).raise_for_status().json()
    new = rotated(running, made["id"], 3600)
    assert new.key.expires_at == running.clock.now() + 365 * DAY_S
    with running.client(new.text) as ada:
        assert ada.post("/v1/workloads", json=WORKLOAD, headers=headers).json() == first
        other = ada.post("/v1/workloads", json=WORKLOAD | {"name": "other"}, headers=headers)
        assert other.status_code == 409


WORKLOAD = {
    "name": "delays",
    "domain": [{"name": "delay", "kind": "ordinal", "edges": [0, 15]}],
    "queries": "prefix",
}


@pytest.mark.parametrize(("role", "ends"), [("admin", True), ("analyst", True), ("uploader", False)])
def test_keys_of_people_end_after_a_year_unless_something_else_is_said(running: Any, role: str, ends: bool) -> None:
    made = running.api.post("/v1/keys", json={"name": "x", "role": role}).raise_for_status().json()
    assert made["expires_at"] == (running.clock.now() + 365 * DAY_S if ends else None)
    free = running.api.post("/v1/keys", json={"name": "x", "role": role, "expires_at": None}).raise_for_status().json()
    assert free["expires_at"] is None


def test_of_twelve_revocations_at_once_one_admin_stays(server: Any) -> None:
    for number in range(11):
        with server.database.write("admin") as session:
            service.create(session, f"admin {number}", Role.ADMIN, server.clock.now())
    with server.database.read() as session:
        admins = [key.id for key in session.query(Key).filter_by(role=Role.ADMIN)]
    assert len(admins) == 12

    def revoke(identifier: str) -> bool:
        try:
            server.database.run("revoke", lambda session: service.revoke(session, identifier, server.clock.now()))
        except ServerError as error:
            return error.problem is not Problem.ILLEGAL_TRANSITION
        return True

    with ThreadPoolExecutor(12) as pool:
        done = list(pool.map(revoke, admins))
    assert sum(done) == 11
    with server.database.read() as session:
        assert len([key for key in session.query(Key).filter_by(role=Role.ADMIN) if key.revoked_at is None]) == 1


def test_when_the_last_admin_expires_the_machine_makes_another(
    running: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure_logs("info", "text")
    warn_of_ending_keys(running.database)
    assert "no key of role admin" not in capsys.readouterr().err
    with running.database.write("end") as session:
        session.query(Key).filter_by(role=Role.ADMIN).update({"expires_at": 1})
    refused = running.api.get("/v1/keys")
    assert refused.status_code == 401
    command = "sordino keys create --role admin"
    assert f"`{command}` creates on the server's machine" in refused.json()["detail"]
    warn_of_ending_keys(running.database)
    assert f"`{command}`" in capsys.readouterr().err
    monkeypatch.setenv("SORDINO_DATABASE_URL", running.database.url.render_as_string(hide_password=False))
    made = CliRunner().invoke(app, [*command.split()[1:], "--name", "me", "--json"])
    with running.client(json.loads(made.stdout)["key"]) as admin:
        newest = admin.get("/v1/audit-log").raise_for_status().json()["entries"][0]
    assert (newest["action"], newest["actor"].partition(":")[0]) == ("create key", "shell")


def test_a_new_database_lacks_no_admin(migrated_sqlite_url: str) -> None:
    database = Database(migrated_sqlite_url)
    with database.read() as session:
        assert not service.lacks_admin(session, 1)
    database.close()


def test_keys_that_end_soon_are_told(running: Any, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "text")
    with running.database.write("keys") as session:
        now = int(time.time())
        soon = service.create(session, "Ada", Role.ANALYST, now, expires_at=now + 29 * DAY_S).key.id
        service.create(session, "Bob", Role.ANALYST, now, expires_at=now + 31 * DAY_S)
        assert [key.id for key in service.ending(session, now)] == [soon]
    warn_of_ending_keys(running.database)
    told = capsys.readouterr().err
    assert f"sordino keys rotate {soon}" in told
    assert "Bob" not in told
