"""Every response has an id and careful headers, also what nobody expected; logs tell ids and no secrets."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sordino_server.config import Settings
from sordino_server.kit.db import Database
from sordino_server.kit.logs import configure_logs
from sordino_server.serving.app import create_app
from sordino_shared.protocol import CBOR_MEDIA_TYPE, PROBLEM_MEDIA_TYPE

ADDRESS = "203.0.113.77"
SECRETS = {"key": "sdo_admin_0123456789abcdef_" + "c0ffee" * 10 + "0000", "idempotency-key": "my-own-idempotency"}


class App:
    """The application in this process; `logged` is all that it has said."""

    def __init__(self, path: Path, logs: io.StringIO) -> None:
        self._database = Database(f"sqlite:///{path}")
        self.app = create_app(Settings(), self._database)
        self.app.add_api_route("/bug", self._bug)
        self._logs = logs

    async def _bug(self) -> None:
        raise RuntimeError("unexpected")

    def ask(self, *asked: tuple[str, str, dict[str, Any]]) -> list[httpx.Response]:
        async def send() -> list[httpx.Response]:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False, client=(ADDRESS, 4711))
            async with (
                self.app.router.lifespan_context(self.app),
                httpx.AsyncClient(transport=transport, base_url="http://test") as client,
            ):
                return [await client.request(method, path, **rest) for method, path, rest in asked]

        return asyncio.run(send())

    @property
    def logged(self) -> str:
        return self._logs.getvalue()

    def close(self) -> None:
        self._database.close()


@pytest.fixture
def app(migrated_sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    logs = io.StringIO()
    monkeypatch.setattr(sys, "stderr", logs)
    configure_logs("debug", "json")
    app = App(Path(migrated_sqlite_url.removeprefix("sqlite:///")), logs)
    yield app
    app.close()
    configure_logs("info", "text")


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/v1/version", "/v1/campaigns", "/nowhere", "/bug"])
def test_every_answer_is_careful(app: App, path: str) -> None:
    (response,) = app.ask(("GET", path, {}))
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cache-control"] == "no-store"
    assert len(response.headers["x-request-id"]) == 32
    assert response.headers.get_list("x-request-id") == [response.headers["x-request-id"]]


def test_a_harmless_id_is_kept_and_another_is_not(app: App) -> None:
    kept, replaced, long = app.ask(
        *(("GET", "/bug", {"headers": {"x-request-id": given}}) for given in ("trace-1.a_B", "a b\t", "x" * 65))
    )
    assert kept.headers["x-request-id"] == "trace-1.a_B"
    assert len(replaced.headers["x-request-id"]) == len(long.headers["x-request-id"]) == 32
    assert kept.headers["content-type"] == PROBLEM_MEDIA_TYPE


def test_events_of_a_request_have_its_id(app: App) -> None:
    app.ask(
        ("GET", "/bug", {"headers": {"x-request-id": "one"}}), ("GET", "/livez", {"headers": {"x-request-id": "two"}})
    )
    events = [json.loads(line) for line in app.logged.splitlines()]
    bugs = [event for event in events if event["event"] == "bug"]
    assert [event["request_id"] for event in bugs] == ["one"]
    finished = {event["request_id"]: event for event in events if event["event"] == "request"}
    assert (finished["one"]["status"], finished["two"]["status"]) == (500, 200)
    assert finished["two"]["route"] == "/livez"
    assert finished["two"]["level"] == "debug"


def test_logs_hold_no_secret_and_no_address(app: App) -> None:
    """At the lowest level, with bugs and refusals of every kind."""
    headers = {
        "Authorization": f"Bearer {SECRETS['key']}",
        "Idempotency-Key": SECRETS["idempotency-key"],
        "X-Forwarded-For": "198.51.100.9",
    }
    upload = {"content": b"a report of somebody", "headers": headers | {"Content-Type": CBOR_MEDIA_TYPE}}
    path = "/v1/campaigns/" + "0" * 64
    asked = [("GET", each, {"headers": headers}) for each in ("/bug", "/v1/keys", path, f"{path}/status", "/readyz")]
    asked += [("POST", f"{path}/rounds/0/reports", upload), ("POST", "/v1/keys", upload)]
    statuses = [response.status_code for response in app.ask(*asked)]
    assert statuses == [500, 401, 404, 401, 200, 400, 401]
    assert app.logged.count('"request"') == len(asked)
    for hidden in (*SECRETS.values(), ADDRESS, "198.51.100.9", "a report of somebody", "c0ffee"):
        assert hidden not in app.logged
