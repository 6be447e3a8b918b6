"""The audit log: an entry for everything that an operator changed, none for what changed nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import text

from sordino_server.models import Role
from sordino_shared.protocol import Manifest, Problem, signed_message

Check = Callable[..., dict[str, Any]]
TERMS = {"name": "delays", "purpose": "We ask how late you were.", "population": "travellers"}


def _entries(running: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = running.api.get("/v1/audit-log").raise_for_status().json()["entries"]
    return found


def _post(running: Any, path: str, body: Any = None, **headers: str) -> Any:
    return running.api.post(path, json=body, headers=headers).raise_for_status().json()


def _written_down(running: Any) -> set[tuple[str, str]]:
    """Operations that write an entry here, by method and path."""
    described = running.api.get("/v1/openapi.json").json()["paths"]
    writes = {(method, path) for path, each in described.items() for method in each if method not in ("get", "head")}
    # Devices write no entry; that of sums is in tests/server/sources/test_import.py, that of strings in
    # tests/server/answers/test_string_searches_api.py.
    writes -= {("post", "/v1/campaigns/{campaign}/rounds/{index}/reports")}
    writes -= {("post", "/v1/campaigns/{campaign_id}/rounds/{index}/tokens")}
    writes -= {("post", "/v1/campaigns/{campaign_id}/strings")}
    writes -= {("post", "/v1/campaigns/{campaign_id}/rounds/{index}/aggregates")}
    # Links need an estimate: theirs are in tests/server/answers/test_share_links.py.
    links = "/v1/campaigns/{campaign_id}/share-links"
    writes -= {("post", links), ("delete", links + "/{link_id}")}
    # A preview stores nothing.
    writes -= {("post", "/v1/previews")}
    # Nor do other logs, whose checkpoints a witness keeps.
    writes -= {("post", "/witness/add-checkpoint")}
    # Nor do shufflers.
    batch = "/v1/campaigns/{campaign_id}/rounds/{index}/batch"
    writes -= {("put", batch), ("post", batch + "/{page}")}
    # Those of datasets need a key of their own; tests/server/curator/test_endpoints.py has their entries.
    return {(method, path) for method, path in writes if not path.startswith("/v1/datasets")}


def test_every_operation_that_changes_something_has_an_entry(running: Any) -> None:
    """The operations come from the description of the API, so that a new one fails until it is written down."""
    analyst = running.client(running.key(Role.ANALYST))
    plan = running.ready_plan()["id"]
    campaign = _post(running, "/v1/campaigns", {**TERMS, "plan_request": plan})["id"]
    analyst.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    _post(running, f"/v1/campaigns/{campaign}/rounds/0/close")
    running.work()
    _post(running, f"/v1/campaigns/{campaign}/rounds/0/retry")
    running.clock.advance(1)
    _post(running, f"/v1/campaigns/{_post(running, '/v1/campaigns', {**TERMS, 'plan_request': plan})['id']}/cancel")
    running.clock.advance(1)
    other = _post(running, "/v1/campaigns", {**TERMS, "plan_request": plan})["id"]
    _post(running, f"/v1/campaigns/{other}/open")
    bound = {"role": "aggregator", "campaign": other, "source": "eu", "max_reports": 1}
    _post(running, "/v1/keys", {"name": "region", **bound})
    _post(running, f"/v1/campaigns/{other}/close")
    _post(running, f"/v1/campaigns/{other}/rounds/0/waive-sources")
    private = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
    content = running.anonymous.get(f"/v1/campaigns/{other}").content
    signature = private.sign(signed_message(Manifest.read(content))).hex()
    signed = {"key": private.public_key().public_bytes_raw().hex(), "signature": signature}
    _post(running, f"/v1/campaigns/{other}/signatures", signed)
    _post(running, f"/v1/campaigns/{other}/archive")
    _post(running, f"/v1/campaigns/{other}/restore")
    running.clock.advance(1)
    draft = _post(running, "/v1/campaigns", {**TERMS, "plan_request": plan})["id"]
    running.api.delete(f"/v1/campaigns/{draft}").raise_for_status()
    _post(running, f"/v1/plan-requests/{running.plan_request(epsilon=3)['id']}/cancel")
    terms = {**TERMS, "plan_request": plan, "series": {"slots": 7, "answers_max": 12}}
    series = _post(running, "/v1/campaigns", terms)["id"]
    for action in ("open", "pause", "resume"):
        _post(running, f"/v1/campaigns/{series}/{action}")
    population = _post(running, "/v1/populations", {"name": "others", "epsilon_lifetime": "3"})
    path = f"/v1/populations/{population['id']}"
    etag = running.api.get(path).headers["etag"]
    running.api.patch(path, json={"epsilon_lifetime": "4"}, headers={"If-Match": etag}).raise_for_status()
    key = _post(running, "/v1/keys", {"name": "new", "role": "analyst"})["id"]
    running.api.delete(f"/v1/keys/{key}").raise_for_status()
    entries = _entries(running)
    writes = _written_down(running)
    assert len({entry["action"] for entry in entries}) == len(writes), writes
    opened = next(entry for entry in entries if entry["path"] == f"/v1/campaigns/{campaign}/open")
    assert (opened["action"], opened["role"], opened["key_name"]) == ("open campaign", "analyst", "test")
    assert (opened["created_at"], opened["created"]) == (1_800_000_000, "2027-01-15T08:00:00Z")
    assert {f"/v1/campaigns/{campaign}", f"/v1/keys/{key}", path} <= {entry["path"] for entry in entries}
    numbers = [int(entry["id"], 16) for entry in entries]
    assert numbers == sorted(numbers, reverse=True)
    assert not re.search("sdo_|secret", str(entries))


def test_what_changes_nothing_leaves_no_entry(running: Any) -> None:
    running.workload()
    key = _post(running, "/v1/keys", {"name": "new", "role": "analyst"}, **{"Idempotency-Key": "once"})["id"]
    running.api.delete(f"/v1/keys/{key}").raise_for_status()
    before = _entries(running)
    running.workload()
    _post(running, "/v1/keys", {"name": "new", "role": "analyst"}, **{"Idempotency-Key": "once"})
    running.api.delete(f"/v1/keys/{key}").raise_for_status()
    assert running.api.post("/v1/keys", json={"name": "", "role": "analyst"}).status_code == 422
    assert running.api.post(f"/v1/campaigns/{'0' * 64}/open").status_code == 404
    assert running.client(running.key(Role.ANALYST)).delete(f"/v1/keys/{key}").status_code == 403
    assert _entries(running) == before
    assert [entry["action"] for entry in before] == ["revoke key", "create key", "register workload"]


def test_pages_and_roles(running: Any, check_problem: Check) -> None:
    for number in range(5):
        _post(running, "/v1/keys", {"name": f"key {number}", "role": "uploader"})
    whole, pages, token = _entries(running), [], None
    while True:
        asked = {"page_size": 2} | ({} if token is None else {"page_token": token})
        page = running.api.get("/v1/audit-log", params=asked).raise_for_status().json()
        pages += page["entries"]
        token = page["next_page_token"]
        if token is None:
            break
    assert pages == whole
    assert len(whole) == 5
    check_problem(running.anonymous.get("/v1/audit-log"), Problem.UNAUTHORIZED)
    check_problem(running.api.get("/v1/audit-log", params={"page_token": "x"}), Problem.INVALID_REQUEST, "page_token")


@pytest.mark.parametrize("engine", ["running", "running_on_postgres"])
def test_the_database_refuses_to_change_an_entry(request: pytest.FixtureRequest, engine: str) -> None:
    server = request.getfixturevalue(engine)
    _post(server, "/v1/keys", {"name": "new", "role": "analyst"})
    (entry,) = _entries(server)
    statements = ["UPDATE audit_log SET action = 'nothing'", "DELETE FROM audit_log"]
    if engine == "running":
        columns = "id, key_id, action, path, created_at"
        statements.append(
            f"INSERT OR REPLACE INTO audit_log ({columns}) SELECT id, key_id, 'nothing', path, 0 FROM audit_log"
        )
    else:
        statements.append("TRUNCATE audit_log")
    for statement in statements:
        with pytest.raises(Exception, match="append-only"), server.database.write("tamper") as session:
            session.execute(text(statement))
    assert _entries(server) == [entry]
