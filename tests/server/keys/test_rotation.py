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
from sordino_server.errors import ServerError
from sordino_server.keys import service
from sordino_server.keys.ending_keys import warn_of_ending_keys
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


def admins_made(server: Any, number: int) -> list[str]:
    """The ids of so many more admins' keys without an end, and of the first one."""
    for each in range(number):
        with server.database.write("admin") as session:
            service.create(session, f"admin {each}", Role.ADMIN, server.clock.now())
    with server.database.read() as session:
        return [key.id for key in session.query(Key).filter_by(role=Role.ADMIN)]


def revokes(server: Any, identifier: str) -> bool:
    """Whether the key is revoked, and not kept as the last admin's."""
    try:
        server.database.run("revoke", lambda session: service.revoke(session, identifier, server.clock.now()))
    except ServerError as error:
        return error.problem is not Problem.ILLEGAL_TRANSITION
    return True


def in_use(server: Any) -> list[Key]:
    with server.database.read() as session:
        return [key for key in session.query(Key).filter_by(role=Role.ADMIN) if key.revoked_at is None]


def test_of_twelve_revocations_at_once_one_admin_stays(server: Any) -> None:
    admins = admins_made(server, 11)
    assert len(admins) == 12
    with ThreadPoolExecutor(12) as pool:
        done = list(pool.map(lambda each: revokes(server, each), admins))
    assert sum(done) == 11
    assert len(in_use(server)) == 1


def test_twelve_revocations_at_once_leave_an_admin_whose_key_lasts(server: Any) -> None:
    """Keys that end tomorrow are no admins to rely on: of six such and six others one of the others stays."""
    admins = admins_made(server, 11)
    short = admins[:6]
    with server.database.write("end") as session:
        session.query(Key).filter(Key.id.in_(short)).update({"expires_at": server.clock.now() + DAY_S})
    with ThreadPoolExecutor(12) as pool:
        done = dict(zip(admins, pool.map(lambda each: revokes(server, each), admins), strict=True))
    assert [done[each] for each in admins[6:]].count(True) == 5
    assert [key.id for key in in_use(server) if key.id not in short] == [each for each in admins[6:] if not done[each]]


def test_the_last_admin_whose_key_lasts_is_not_revoked(running: Any, check_problem: Check) -> None:
    mine = running.admin_key.split("_")[2]
    soon = running.clock.now() + 29 * DAY_S
    other = running.api.post("/v1/keys", json={"name": "B", "role": "admin", "expires_at": soon}).json()
    detail = check_problem(running.api.delete(f"/v1/keys/{mine}"), Problem.ILLEGAL_TRANSITION)["detail"]
    assert "the last key of role admin that lasts, and the others end by 2027-02-13T08:00:00Z" in detail
    # The key that ends earlier may go: it is not the one that the other relies on.
    running.api.delete(f"/v1/keys/{other['id']}").raise_for_status()
    running.api.post("/v1/keys", json={"name": "C", "role": "admin", "expires_at": soon + 2 * DAY_S}).raise_for_status()
    running.api.delete(f"/v1/keys/{mine}").raise_for_status()


def test_a_key_that_was_rotated_keeps_its_overlap(server: Any) -> None:
    with server.database.write("key") as session:
        old = service.create(session, "Ada", Role.ANALYST, server.clock.now()).key.id
    new = rotated(server, old, DAY_S)
    with pytest.raises(ServerError, match=f"has a successor, {new.key.id}, and ends at .*: rotate the successor"):
        rotated(server, old, 60)
    with server.database.read() as session:
        assert session.get_one(Key, old).expires_at == server.clock.now() + DAY_S
    third = rotated(server, new.key.id, DAY_S)
    assert (third.key.line, third.key.expires_at) == (old, None)


def test_of_rotations_at_once_one_makes_a_successor(server: Any) -> None:
    with server.database.write("key") as session:
        old = service.create(session, "Ada", Role.ANALYST, server.clock.now()).key.id

    def rotates(_: int) -> bool:
        try:
            server.database.run("rotate", lambda session: service.rotate(session, old, server.clock.now(), DAY_S))
        except ServerError as error:
            return error.problem is not Problem.ILLEGAL_TRANSITION
        return True

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(rotates, range(4))).count(True) == 1


def test_answers_follow_the_line_of_a_key_in_both_directions(running: Any) -> None:
    """A client that changes its key in the overlap repeats a request of the old key with the new one, and back."""
    made = running.api.post("/v1/keys", json={"name": "Ada", "role": "analyst"}).raise_for_status().json()
    second = rotated(running, made["id"], DAY_S)
    third = rotated(running, second.key.id, DAY_S)
    with running.client(made["key"]) as old, running.client(third.text) as new:
        first = old.post("/v1/workloads", json=WORKLOAD, headers={"Idempotency-Key": "old"})
        again = new.post("/v1/workloads", json=WORKLOAD, headers={"Idempotency-Key": "old"})
        assert again.json() == first.raise_for_status().json()
        other = old.post("/v1/workloads", json=WORKLOAD | {"name": "x"}, headers={"Idempotency-Key": "old"})
        assert other.status_code == 409
        terms = WORKLOAD | {"name": "y"}
        assert new.post("/v1/workloads", json=terms, headers={"Idempotency-Key": "new"}).status_code == 201
        assert old.post("/v1/workloads", json=WORKLOAD, headers={"Idempotency-Key": "new"}).status_code == 409


def test_when_the_last_admin_expires_the_machine_makes_another(
    running: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure_logs("info", "text")
    warn_of_ending_keys(running.database, int(time.time()))
    assert "no key of role admin" not in capsys.readouterr().err
    with running.database.write("end") as session:
        session.query(Key).filter_by(role=Role.ADMIN).update({"expires_at": 1})
    refused = running.api.get("/v1/keys")
    assert refused.status_code == 401
    command = "sordino keys create --role admin"
    assert f"`{command}` creates on the server's machine" in refused.json()["detail"]
    warn_of_ending_keys(running.database, int(time.time()))
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
    warn_of_ending_keys(running.database, int(time.time()))
    told = capsys.readouterr().err
    assert f"sordino keys rotate {soon}" in told
    assert "Bob" not in told
