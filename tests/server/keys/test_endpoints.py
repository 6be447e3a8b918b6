"""Keys open what their role allows, until they are revoked."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from sordino_server.models import Role
from sordino_server.serving.openapi import document
from sordino_shared.protocol import Problem

Check = Callable[..., dict[str, Any]]

# As docs/operations.md says it, under "Who may do what"; everything else is for analysts.
# Only a source that the manifest names as a server mirrors a campaign; tests/server/collecting has such.
MIRROR = "GET /v1/mirror"
AGGREGATORS = {"POST /v1/campaigns/{campaign_id}/rounds/{index}/aggregates"}
ANYBODYS = {
    "GET /livez",
    "GET /readyz",
    "GET /v1/version",
    "GET /v1/campaigns/{campaign_id}",
    "GET /v1/campaigns/{campaign_id}/task",
    "GET /v1/campaigns/{campaign_id}/signature",
    "GET /v1/populations/{name}/open",
    "GET /v1/plans/{digest}",
    "GET /v1/protocol-plans/{digest}",
    "POST /v1/campaigns/{campaign}/rounds/{index}/reports",
    "GET /v1/campaigns/{campaign_id}/log-proof",
    "GET /v1/campaigns/{campaign_id}/rounds/{index}/log-proof",
    "GET /v1/log",
    "GET /v1/log/entries",
    "GET /v1/log/witnesses",
    "GET /v1/log/days",
    "GET /log/checkpoint",
    "GET /log/tile/{tile}",
    "GET /witness/checkpoint",
    "POST /witness/add-checkpoint",
    "POST /v1/campaigns/{campaign_id}/rounds/{index}/tokens",
}
ADMINS = {
    "POST /v1/keys",
    "GET /v1/keys",
    "DELETE /v1/keys/{key_id}",
    "POST /v1/populations",
    "PATCH /v1/populations/{population_id}",
    "POST /v1/datasets",
    "PATCH /v1/datasets/{dataset_id}",
    "DELETE /v1/datasets/{dataset_id}",
}


SHUFFLERS = {
    "POST /v1/campaigns/{campaign_id}/rounds/{index}/batch/{page}",
    "PUT /v1/campaigns/{campaign_id}/rounds/{index}/batch",
}


def test_a_new_key_opens_what_its_role_allows(running: Any, check_problem: Check) -> None:
    made = running.api.post("/v1/keys", json={"name": "Ada", "role": "analyst"})
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    with running.client(made.json()["key"]) as analyst:
        assert analyst.get("/v1/workloads").status_code == 200
        check_problem(analyst.get("/v1/keys"), Problem.FORBIDDEN, "admin")
        check_problem(analyst.post("/v1/keys", json={"name": "x", "role": "admin"}), Problem.FORBIDDEN)


def test_an_uploader_reads_nothing(running: Any, check_problem: Check) -> None:
    with running.client(running.key(Role.UPLOADER)) as uploader:
        for path in ("/v1/workloads", "/v1/plan-requests", "/v1/campaigns", "/v1/keys"):
            check_problem(uploader.get(path), Problem.FORBIDDEN)


def test_every_operation_wants_the_role_that_is_documented(running: Any) -> None:
    named = [
        (f"{method.upper()} {path}", re.sub("{.*?}", "0", path))
        for path, operations in document()["paths"].items()
        for method in operations
    ]
    opened: dict[str, set[str]] = {}
    unbound = [role for role in Role if role not in (Role.AGGREGATOR, Role.SHUFFLER, Role.ISSUER)]
    bound = {"name": "eu", "role": "aggregator", "source": "eu", "max_reports": 1, "campaign": running.campaign()["id"]}
    aggregator = running.api.post("/v1/keys", json=bound).raise_for_status().json()["key"]
    holders = {"anybody": "none", "aggregator": aggregator} | {role.value: running.key(role) for role in unbound}
    for who, key in holders.items():
        with running.client(key) as client:
            answers = {name: client.request(name.split()[0], path).status_code for name, path in named}
        opened[who] = {name for name, status in answers.items() if status not in (401, 403)}
    assert opened["anybody"] == opened["uploader"] == ANYBODYS
    assert opened["aggregator"] == ANYBODYS | AGGREGATORS
    assert opened["analyst"] == {name for name, _ in named} - ADMINS - AGGREGATORS - SHUFFLERS - {MIRROR}
    assert opened["admin"] == {name for name, _ in named} - {MIRROR}


def test_a_revoked_key_opens_nothing(running: Any, check_problem: Check) -> None:
    made = running.api.post("/v1/keys", json={"name": "Ada", "role": "admin"}).json()
    with running.client(made["key"]) as other:
        assert other.get("/v1/keys").status_code == 200
        running.clock.advance(60)
        first = running.api.delete(f"/v1/keys/{made['id']}").json()
        assert first["revoked_at"] == running.clock.now()
        check_problem(other.get("/v1/keys"), Problem.UNAUTHORIZED)
    running.clock.advance(60)
    assert running.api.delete(f"/v1/keys/{made['id']}").json() == first


@pytest.mark.parametrize("server", ["running", "running_on_postgres"])
def test_of_two_admins_who_revoke_each_other_one_stays(server: str, request: pytest.FixtureRequest) -> None:
    running = request.getfixturevalue(server)
    for _ in range(3):
        other = running.key(Role.ADMIN)
        mine = running.admin_key
        with running.client(other) as theirs, ThreadPoolExecutor(2) as both:
            asked = [
                both.submit(api.delete, f"/v1/keys/{key.split('_')[2]}")
                for api, key in ((running.api, other), (theirs, mine))
            ]
            statuses = sorted(each.result().status_code for each in asked)
        # The second is refused as the last admin, or is an admin no more.
        assert statuses in ([200, 401], [200, 409])
        keys = running.client(other if running.api.get("/v1/keys").status_code == 401 else mine).get("/v1/keys")
        left = [each for each in keys.json()["keys"] if each["role"] == "admin" and each["revoked_at"] is None]
        assert len(left) == 1
        if left[0]["id"] == other.split("_")[2]:
            break


def test_unknown_keys(running: Any, check_problem: Check) -> None:
    check_problem(running.api.delete("/v1/keys/" + "0" * 16), Problem.NOT_FOUND)
    check_problem(running.api.delete("/v1/keys/%00"), Problem.INVALID_REQUEST)


def test_wrong_keys_are_all_answered_alike(running: Any, check_problem: Check) -> None:
    prefix, role, identifier, secret = running.admin_key.split("_")
    flipped = secret[:-1] + ("0" if secret[-1] != "0" else "1")
    wrong = [
        f"{prefix}_{role}_{identifier}_{flipped}",
        f"{prefix}_{role}_{'0' * 16}_{secret}",
        f"{prefix}_analyst_{identifier}_{secret}",
        f"x_{role}_{identifier}_{secret}",
        f"{running.admin_key}_",
        "nonsense",
    ]
    details = set()
    for text_of_key in wrong:
        with running.client(text_of_key) as client:
            response = client.get("/v1/keys")
        details.add(check_problem(response, Problem.UNAUTHORIZED)["detail"])
        assert response.headers["www-authenticate"] == "Bearer"
    assert len(details) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/keys"),
        ("POST", "/v1/keys"),
        ("POST", "/v1/workloads"),
        ("GET", "/v1/workloads"),
        ("POST", "/v1/plan-requests"),
        ("GET", "/v1/plan-requests/" + "0" * 32),
        ("POST", "/v1/campaigns"),
        ("GET", "/v1/campaigns"),
        ("GET", "/v1/campaigns/" + "0" * 64 + "/status"),
        ("POST", "/v1/campaigns/" + "0" * 64 + "/open"),
        ("GET", "/v1/campaigns/" + "0" * 64 + "/rounds/0/estimates"),
    ],
)
def test_operators_endpoints_want_a_key(running: Any, check_problem: Check, method: str, path: str) -> None:
    check_problem(running.anonymous.request(method, path), Problem.UNAUTHORIZED)


def test_no_secret_is_stored(running: Any) -> None:
    """Also not in the answer that is remembered for an idempotency key."""
    headers = {"Idempotency-Key": "once"}
    body = {"name": "Ada", "role": "analyst"}
    made = running.api.post("/v1/keys", json=body, headers=headers).json()
    again = running.api.post("/v1/keys", json=body, headers=headers).json()
    assert again == made | {"key": None}
    secret = made["key"].rpartition("_")[2]
    with running.database.read() as session:
        kept = [
            str(tuple(row))
            for table in ("keys", "idempotency_keys")
            for row in session.execute(text(f"SELECT * FROM {table}"))
        ]
    assert len(kept) == 3
    assert not any(secret in row for row in kept)


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7])
def test_lists_come_in_pages_newest_first(running: Any, size: int) -> None:
    """Some rows are of the same second, and pages end between them."""
    for number in range(5):
        running.clock.advance(number % 2)
        running.api.post("/v1/keys", json={"name": f"key {number}", "role": "analyst"})
    seen, token = [], None
    while True:
        page = running.api.get("/v1/keys", params={"page_size": size} | ({"page_token": token} if token else {})).json()
        assert len(page["keys"]) <= size
        seen += page["keys"]
        token = page["next_page_token"]
        if token is None:
            break
    assert len({key["id"] for key in seen}) == 6
    times = [key["created_at"] for key in seen]
    assert times == sorted(times, reverse=True)
