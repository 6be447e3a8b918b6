"""Who acted, in the audit log: keys, the shell, workers; with what was before and after."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import text

from sordino_server.jobs.audit_chores import AuditChores
from sordino_server.keys.audit_chain import START, fields_of, link
from sordino_server.models import AuditEntry, AuditLink


def _entries(running: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = running.api.get("/v1/audit-log").raise_for_status().json()["entries"]
    return found


def test_a_change_of_keys_has_before_and_after(running: Any) -> None:
    made = running.api.post("/v1/keys", json={"name": "Ada", "role": "analyst"}).raise_for_status().json()
    running.api.delete(f"/v1/keys/{made['id']}").raise_for_status()
    revoked, created = _entries(running)
    terms = {"role": "analyst", "expires_at": made["expires_at"]}
    assert (created["before"], json.loads(created["after"])) == (None, terms)
    assert json.loads(revoked["before"]) == terms
    assert json.loads(revoked["after"]) == {"revoked_at": running.clock.now()}


def test_a_worker_notes_another_retention_once(running: Any) -> None:
    now = running.clock.now()
    for kept in (None, 30, 7, 7, "forever"):
        AuditChores().run(running.database, kept, now, lambda: None)
    forever, week = _entries(running)
    for entry in (forever, week):
        assert (entry["actor"], entry["key_id"], entry["key_name"], entry["role"]) == ("worker", None, None, None)
        assert (entry["action"], entry["path"]) == ("change retention", "SORDINO_RAW_REPORT_RETENTION_DAYS")
    assert (json.loads(week["before"]), json.loads(week["after"])) == ({"days": 30}, {"days": 7})
    assert (json.loads(forever["before"]), json.loads(forever["after"])) == ({"days": 7}, {"days": "forever"})
    with running.database.read() as session:
        rows = session.query(AuditEntry).order_by(AuditEntry.id).all()
    AuditChores().run(running.database, "forever", now, lambda: None)
    with running.database.read() as session:
        links = [row.sha256 for row in session.query(AuditLink).order_by(AuditLink.entry_id)]
    previous = START
    for row, sha256 in zip(rows, links, strict=True):
        previous = link(previous, fields_of(row))
        assert previous == sha256


def test_entries_of_workers_cannot_be_changed_either(running: Any) -> None:
    AuditChores().run(running.database, 7, running.clock.now(), lambda: None)
    before = _entries(running)
    for statement in ("UPDATE audit_log SET actor = 'key:me'", "DELETE FROM audit_log"):
        with pytest.raises(Exception, match="append-only"), running.database.write("tamper") as session:
            session.execute(text(statement))
    assert _entries(running) == before
