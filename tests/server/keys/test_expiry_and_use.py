"""Keys end by themselves, in words that say what to do, and say when they were last used without a write a request."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event

from sordino_server.keys import service
from sordino_server.keys.key_uses import NOTED_EVERY_S
from sordino_server.kit import migrations
from sordino_server.kit.database_errors import DatabaseUnavailable
from sordino_server.models import Key, Role
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Problem

Check = Callable[..., dict[str, Any]]
DAY_S = 86400


def _made(running: Any, role: str = "analyst", days: int = 1, **more: Any) -> dict[str, Any]:
    body = {"name": "Ada", "role": role, "expires_at": running.clock.now() + days * DAY_S} | more
    document: dict[str, Any] = running.api.post("/v1/keys", json=body).raise_for_status().json()
    return document


def _listed(running: Any, identifier: str) -> dict[str, Any]:
    keys = running.api.get("/v1/keys").json()["keys"]
    return next(key for key in keys if key["id"] == identifier)


def test_a_key_opens_until_its_end_and_then_says_what_to_do(running: Any, check_problem: Check) -> None:
    made = _made(running)
    with running.client(made["key"]) as ada:
        running.clock.advance(DAY_S - 1)
        assert ada.get("/v1/workloads").status_code == 200
        running.clock.advance(1)
        detail = check_problem(ada.get("/v1/workloads"), Problem.UNAUTHORIZED)["detail"]
    assert "(Ada) expired at 2027-01-16T08:00:00Z" in detail
    assert "`sordino keys create --role analyst` creates" in detail


def test_who_has_not_the_whole_key_learns_nothing_of_its_end(running: Any, check_problem: Check) -> None:
    made = _made(running)
    running.clock.advance(2 * DAY_S)
    start, _, secret = made["key"].rpartition("_")
    with running.client(f"{start}_{secret[::-1]}") as guess:
        assert "expired" not in check_problem(guess.get("/v1/workloads"), Problem.UNAUTHORIZED)["detail"]


@pytest.mark.parametrize("end", [0, 1, 1_800_000_000, 1_800_000_000 + 36525 * DAY_S + 1, 2**53 - 1])
def test_an_end_in_the_past_or_in_a_hundred_years_is_refused(running: Any, check_problem: Check, end: int) -> None:
    body = {"name": "x", "role": "analyst", "expires_at": end}
    problem = check_problem(running.api.post("/v1/keys", json=body), Problem.INVALID_REQUEST)
    assert "2027-01-15T08:00:00Z or 1800000000" in problem["detail"]


@pytest.mark.parametrize("end", [-1, 1.5, "2030-01-01", True, 2**53])
def test_an_end_that_is_no_time_is_refused(running: Any, check_problem: Check, end: object) -> None:
    body = {"name": "x", "role": "analyst", "expires_at": end}
    check_problem(running.api.post("/v1/keys", json=body), Problem.INVALID_REQUEST)


def test_an_upload_token_that_expired_names_the_campaign_to_renew_it_for(running: Any, check_problem: Check) -> None:
    campaign = running.campaign()["id"]
    made = _made(running, "uploader", campaign=campaign)
    running.clock.advance(2 * DAY_S)
    with running.database.read() as session, pytest.raises(service.ServerError) as caught:
        service.authenticate_uploader(session, made["key"], campaign, running.clock.now())
    assert f"`sordino keys create --role uploader --campaign {campaign}`" in str(caught.value)


def test_an_expired_admin_does_not_count_as_the_last_one(running: Any, check_problem: Check) -> None:
    _made(running, "admin")
    mine = running.admin_key.split("_")[2]
    running.clock.advance(2 * DAY_S)
    check_problem(running.api.delete(f"/v1/keys/{mine}"), Problem.ILLEGAL_TRANSITION)


def test_an_expired_admins_key_can_be_revoked(running: Any) -> None:
    made = _made(running, "admin")
    running.clock.advance(2 * DAY_S)
    assert running.api.delete(f"/v1/keys/{made['id']}").status_code == 200


def test_uses_are_noted_every_five_minutes_and_not_at_each_request(running: Any) -> None:
    made, written = _made(running, days=30), []
    assert made["last_used_at"] is None

    def watch(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("UPDATE keys"):
            written.append(statement)

    event.listen(running.database.engine, "before_cursor_execute", watch)
    first = running.clock.now()
    with running.client(made["key"]) as ada:
        for _ in range(50):
            ada.get("/v1/workloads").raise_for_status()
            running.clock.advance(1)
        assert len(written) == 1
        assert _listed(running, made["id"])["last_used_at"] == first
        running.clock.advance(NOTED_EVERY_S)
        ada.get("/v1/workloads")
    again = _listed(running, made["id"])
    assert again["last_used_at"] == first + 50 + NOTED_EVERY_S
    assert again["last_used"] == "2027-01-15T08:05:50Z"


def test_a_refused_key_is_not_used(running: Any) -> None:
    made = _made(running)
    with running.client(made["key"]) as ada:
        assert ada.get("/v1/keys").status_code == 403
        running.clock.advance(2 * DAY_S)
        assert ada.get("/v1/workloads").status_code == 401
    assert _listed(running, made["id"])["last_used_at"] is None


def test_an_upload_token_is_used_by_a_report(running: Any) -> None:
    terms = {"name": "delays", "purpose": "We ask how late you were.", "population": "travellers"}
    order = terms | {"plan_request": running.ready_plan()["id"], "upload_token": True}
    campaign = running.api.post("/v1/campaigns", json=order).raise_for_status().json()
    headers = {"Authorization": f"Bearer {campaign['upload_token']}", "Content-Type": CBOR_MEDIA_TYPE}
    path = f"/v1/campaigns/{campaign['id']}/rounds/0/reports"
    running.anonymous.post(path, content=b"none", headers=headers)
    assert _listed(running, campaign["upload_token"].split("_")[2])["last_used_at"] == running.clock.now()


def test_a_clock_that_was_ahead_does_not_stop_the_notes(running: Any) -> None:
    made = _made(running, days=30)
    with running.client(made["key"]) as ada:
        running.clock.advance(5 * DAY_S)
        ada.get("/v1/workloads")
        running.clock.advance(-4 * DAY_S)
        ada.get("/v1/workloads")
    assert _listed(running, made["id"])["last_used_at"] == running.clock.now()


def test_a_database_that_takes_no_note_still_answers(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made, tried = _made(running, days=30), []

    def fail(*_: Any) -> None:
        tried.append(1)
        raise DatabaseUnavailable("the database is locked")

    monkeypatch.setattr("sordino_server.keys.repository.note_use", fail)
    with running.client(made["key"]) as ada:
        assert [ada.get("/v1/workloads").status_code for _ in range(10)] == [200] * 10
    assert len(tried) == 1


def test_a_downgrade_revokes_what_has_expired(running: Any) -> None:
    with running.database.write("test") as session:
        for name, end in (("over", 1), ("valid", 2**40), ("endless", None)):
            key = service.create(session, name, Role.ANALYST, 0).key
            key.expires_at = end
    before = {each.id: each.name for each in _keys(running)}
    migrations.downgrade(running.database, "202611232320")
    with sqlite3.connect(running.database.url.database) as raw:
        rows = dict(raw.execute("SELECT id, revoked_at FROM keys"))
    assert {before[identifier]: revoked for identifier, revoked in rows.items() if revoked} == {"over": 1}
    assert len(rows) == len(before)


def _keys(running: Any) -> list[Key]:
    with running.database.read() as session:
        return list(session.query(Key))
