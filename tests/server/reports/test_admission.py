"""Who may upload: tokens of campaigns, and the rate of addresses without one."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from sordino_server.config import Settings
from sordino_server.context import Context
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.models import Role
from sordino_server.reports import admission
from sordino_server.reports.admission import Admission
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Problem

Check = Callable[..., dict[str, Any]]


@pytest.fixture(params=["running", "running_on_postgres"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def closed_campaign(server: Any, name: str = "closed") -> dict[str, Any]:
    """An open campaign that wants its token."""
    terms = {"name": name, "purpose": "x", "population": "x", "plan_request": server.ready_plan()["id"]}
    created = server.api.post("/v1/campaigns", json=terms | {"upload_token": True}).raise_for_status().json()
    opened: dict[str, Any] = server.api.post(f"/v1/campaigns/{created['id']}/open").raise_for_status().json()
    assert opened["needs_token"]
    assert "upload_token" not in opened
    return created


def upload(server: Any, campaign: dict[str, Any], token: str | None, seed: int = 1) -> httpx.Response:
    if token is None:
        return server.report(campaign, [0, 1], seed)
    with server.client(token) as client:
        client.headers["Accept"] = CBOR_MEDIA_TYPE
        return replace(server, anonymous=client).report(campaign, [0, 1], seed)


def test_a_campaign_may_want_its_token(server: Any, check_problem: Check) -> None:
    campaign, other = closed_campaign(server), closed_campaign(server, "other")
    assert upload(server, campaign, campaign["upload_token"]).status_code == 200
    check_problem(upload(server, campaign, None), Problem.UNAUTHORIZED, "upload token")
    check_problem(upload(server, campaign, campaign["upload_token"][:-1] + "x"), Problem.UNAUTHORIZED)
    check_problem(upload(server, campaign, other["upload_token"]), Problem.FORBIDDEN, "another campaign")
    status = server.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    assert status["refusals"] == {"forbidden": 1, "unauthorized": 2}
    assert status["rounds"][0]["reports"] == 2


def test_a_key_of_an_uploader_opens_every_campaign_and_no_other_door(server: Any, check_problem: Check) -> None:
    campaign, key = closed_campaign(server), server.key(Role.UPLOADER)
    assert upload(server, campaign, key).status_code == 200
    for token in (key, campaign["upload_token"]):
        with server.client(token) as client:
            check_problem(client.get("/v1/campaigns"), Problem.FORBIDDEN)


def test_without_the_wish_anybody_uploads(running: Any) -> None:
    campaign = running.campaign("open")
    assert not campaign["needs_token"]
    for seed, token in enumerate((None, "sdo_nonsense", running.key(Role.UPLOADER)), start=1):
        assert upload(running, campaign, token, seed).status_code == 200


def test_a_revoked_token_opens_nothing_after_a_while(
    running: Any, check_problem: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = closed_campaign(running)
    token = campaign["upload_token"]
    assert upload(running, campaign, token).status_code == 200
    running.api.delete(f"/v1/keys/{token.split('_')[2]}").raise_for_status()
    now = admission.monotonic()
    monkeypatch.setattr(admission, "monotonic", lambda: now + admission.TOKEN_KNOWN_S + 1)
    check_problem(upload(running, campaign, token, seed=2), Problem.UNAUTHORIZED)
    another = {"name": "x", "role": "uploader", "campaign": campaign["id"]}
    made = running.api.post("/v1/keys", json=another).raise_for_status().json()
    assert made["campaign"] == campaign["id"]
    assert upload(running, campaign, made["key"], seed=2).status_code == 200


def test_a_token_is_shown_once(running: Any) -> None:
    terms = {"name": "x", "purpose": "x", "population": "x", "plan_request": running.ready_plan()["id"]}
    order = terms | {"upload_token": True}
    headers = {"Idempotency-Key": "once"}
    first = running.api.post("/v1/campaigns", json=order, headers=headers).json()
    assert first["upload_token"].startswith("sdo_uploader_")
    again = running.api.post("/v1/campaigns", json=order, headers=headers).json()
    assert again == first | {"upload_token": None}


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        ({"role": "analyst", "campaign": "0" * 64}, Problem.INVALID_REQUEST),
        ({"role": "uploader", "campaign": "0" * 64}, Problem.NOT_FOUND),
    ],
)
def test_tokens_that_cannot_be(running: Any, check_problem: Check, order: dict[str, str], problem: Problem) -> None:
    check_problem(running.api.post("/v1/keys", json={"name": "x"} | order), problem)


class Gate:
    """Admission alone, before a real store; `refusal` is why an upload is refused."""

    def __init__(self, database: Database, **settings: Any) -> None:
        self.admission = Admission(Context(settings=Settings(**settings), database=database, clock=ManualClock()))

    def refusal(self, campaign: str, peer: str = "192.0.2.1", **headers: str) -> ServerError | None:
        named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        try:
            asyncio.run(self.admission.admit({"client": (peer, 1), "headers": named}, campaign))
        except ServerError as error:
            return error
        return None


@pytest.fixture
def gate(sqlite_template: Path, tmp_path: Path, store_round: Any) -> Iterator[Callable[..., tuple[Gate, str]]]:
    shutil.copy(sqlite_template, tmp_path / "gate.sqlite3")
    database = Database(f"sqlite:///{tmp_path}/gate.sqlite3")
    yield lambda **settings: (Gate(database, **settings), store_round(database).campaign)
    database.close()


def test_an_address_beyond_its_rate_waits(gate: Any) -> None:
    door, campaign = gate(anonymous_uploads_per_s=0.01, anonymous_uploads_burst=3)
    assert [door.refusal(campaign) for _ in range(3)] == [None] * 3
    refused = door.refusal(campaign)
    assert refused.problem is Problem.RATE_LIMITED
    assert 90 <= refused.extra["retry_after"] <= 100
    assert door.refusal(campaign, "192.0.2.2") is None
    # What anybody may write into a header opens nothing.
    assert door.refusal(campaign, x_forwarded_for="192.0.2.3").problem is Problem.RATE_LIMITED
    assert door.refusal(campaign, authorization="Bearer made-up").problem is Problem.RATE_LIMITED


def test_a_token_is_not_limited(gate: Any) -> None:
    door, campaign = gate(anonymous_uploads_per_s=0.01, anonymous_uploads_burst=1)
    with door.admission._database.write("key") as session:
        token = keys.create(session, "relay", Role.UPLOADER, 0).text
    assert [door.refusal(campaign, authorization=f"Bearer {token}") for _ in range(5)] == [None] * 5
    assert door.refusal(campaign).problem is Problem.RATE_LIMITED


def test_behind_a_trusted_proxy_devices_count_one_by_one(gate: Any) -> None:
    terms = {"anonymous_uploads_per_s": 0.01, "anonymous_uploads_burst": 1}
    door, campaign = gate(trusted_proxies="10.0.0.0/8", **terms)
    assert door.refusal(campaign, "10.0.0.1", x_forwarded_for="192.0.2.1") is None
    assert door.refusal(campaign, "10.0.0.1", x_forwarded_for="192.0.2.2, 10.9.9.9") is None
    forged = door.refusal(campaign, "10.0.0.1", x_forwarded_for="203.0.113.7, 192.0.2.1")
    assert forged.problem is Problem.RATE_LIMITED


def test_who_asks_the_same_at_the_same_time_is_looked_up_once(gate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    door, campaign = gate()
    asked: list[str | None] = []
    check = Admission._check
    monkeypatch.setattr(Admission, "_check", lambda *given: asked.append(given[2]) or check(*given))

    async def together() -> list[BaseException | None]:
        tokens: list[list[tuple[bytes, bytes]]] = [[], [(b"authorization", b"Bearer made-up")]]
        scopes = [{"client": ("192.0.2.1", 1), "headers": headers} for headers in tokens * 50]
        return await asyncio.gather(*(door.admission.admit(scope, campaign) for scope in scopes))

    assert asyncio.run(together()) == [None] * 100
    assert sorted(map(str, asked)) == ["None", "made-up"]
    assert not door.admission._asked


def test_no_limit_unless_it_is_set(gate: Any) -> None:
    door, campaign = gate()
    assert [door.refusal(campaign) for _ in range(100)] == [None] * 100


def test_the_answer_says_when_to_come_again(running: Any, check_problem: Check) -> None:
    """Over HTTP, and counted."""
    campaign = running.campaign("open")
    settings = Settings(anonymous_uploads_per_s=0.01, anonymous_uploads_burst=1)
    running.app.state.admission = Admission(Context(settings=settings, database=running.database, clock=running.clock))
    assert running.report(campaign, [0]).status_code == 200
    response = running.report(campaign, [1], seed=2)
    check_problem(response, Problem.RATE_LIMITED)
    assert 90 <= int(response.headers["retry-after"]) <= 100
    status = running.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    assert status["refusals"] == {"rate-limited": 1}
