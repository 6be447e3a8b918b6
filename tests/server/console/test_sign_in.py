"""Signing in to the console: who may, from where, for how long, and what a form must carry."""

from __future__ import annotations

import asyncio
import hashlib
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import event, select

from sordino_server.config import Settings
from sordino_server.console import sessions
from sordino_server.console.cookies import SESSION as COOKIE
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.models import ConsoleSession, Role, SignInLink
from sordino_server.serving.app import create_app
from tests.patience import PATIENCE_S


def _rows(running: Any) -> list[ConsoleSession]:
    with running.database.read("test") as session:
        return list(session.scalars(select(ConsoleSession)))


def _client(app: FastAPI, url: str, peer: str, headers: dict[str, str]) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app, client=(peer, 4711)), base_url=url, headers=headers)


def test_a_session_is_new_at_sign_in_secret_and_over_after_twelve_hours(running: Any, browsers: Any) -> None:
    browser, key = browsers.anonymous(), running.key(Role.ANALYST)
    response = browser.sign_in(key)
    assert (response.status_code, response.headers["location"]) == (303, "/console/questions")
    set_cookie = next(each for each in response.headers.get_list("set-cookie") if each.startswith(COOKIE))
    assert "HttpOnly" in set_cookie
    assert "SameSite=strict" in set_cookie
    assert "Max-Age=43200" in set_cookie
    assert "Secure" not in set_cookie
    first = browser.http.cookies[COOKIE]
    (row,) = _rows(running)
    assert row.id_sha256 == hashlib.sha256(first.encode()).hexdigest()
    assert browser.sign_in(key).status_code == 303
    second = browser.http.cookies[COOKIE]
    assert first != second
    assert [each.id_sha256 for each in _rows(running)] == [hashlib.sha256(second.encode()).hexdigest()]
    running.clock.advance(sessions.LIFETIME_S - 1)
    browser.page("/console/campaigns")
    running.clock.advance(1)
    assert browser.http.get("/console/campaigns").headers["location"] == "/console/sign-in"


def test_invented_sessions_cost_no_query(running: Any, browsers: Any) -> None:
    browser = browsers.of(Role.ANALYST)
    mine, other = browser.http.cookies[COOKIE], running.key(Role.ADMIN).split("_")[2]
    campaign = running.campaign("open")["id"]
    with counted_queries(running.database) as real:
        browser.page("/console/campaigns")
    invented = [
        "x",
        "0" * len(mine),
        mine[:-1] + ("0" if mine[-1] != "0" else "1"),
        other + mine[16:],
        *(f"{number:016x}{mine[16:]}" for number in range(20)),
        *(mine[:16] + f"{number:043d}" + mine[-32:] for number in range(20)),
    ]
    with counted_queries(running.database) as queries:
        for identifier in invented:
            for path in ("campaigns", f"campaigns/{campaign}/counts"):
                answer = browsers.anonymous(Cookie=f"{COOKIE}={identifier}").http.get(f"/console/{path}")
                assert answer.headers["location"] == "/console/sign-in"
    assert [each for each in real if "console_sessions" in each]
    assert not [each for each in queries if "console_sessions" in each]
    # Ids of no key: the list of keys is read again, once a second for all of them.
    assert len([each for each in queries if "FROM keys" in each]) < len(invented) / 2
    browser.page("/console/campaigns")


def test_a_session_ends_with_its_key_and_at_sign_out(running: Any, browsers: Any) -> None:
    browser, key = browsers.anonymous(), running.key(Role.ANALYST)
    browser.sign_in(key)
    revoked = running.api.delete(f"/v1/keys/{key.split('_')[2]}")
    assert revoked.status_code == 200
    assert browser.http.get("/console/campaigns").headers["location"] == "/console/sign-in"
    other = browsers.of(Role.ADMIN)
    kept = other.http.cookies[COOKIE]
    assert other.send("/console/sign-out", "/console/campaigns").headers["location"] == "/console/sign-in"
    assert COOKIE not in other.http.cookies
    other.http.cookies.set(COOKIE, kept, path="/console")
    assert other.http.get("/console/campaigns").status_code == 303


def test_a_session_and_a_sign_in_end_when_the_key_expires(running: Any, browsers: Any) -> None:
    order = {"name": "Ada", "role": "analyst", "expires_at": running.clock.now() + 3600}
    key = running.api.post("/v1/keys", json=order).json()["key"]
    browser, campaign = browsers.anonymous(), running.campaign("open")["id"]
    browser.sign_in(key)
    counts = f"/console/campaigns/{campaign}/counts"
    assert browser.http.get(counts, headers={"HX-Request": "true"}).status_code == 200
    running.clock.advance(3600)
    assert browser.http.get("/console/campaigns").headers["location"] == "/console/sign-in"
    again = browsers.anonymous().sign_in(key)
    assert (again.status_code, "expired at 2027-01-15T09:00:00Z" in again.text) == (401, True)


def test_wrong_keys_and_tokens_of_devices_open_nothing(running: Any, browsers: Any) -> None:
    right = running.key(Role.ANALYST)
    for key, status in [("", 401), ("sdo_admin_x_y", 401), (right[:-1] + "x", 401), (running.key(Role.UPLOADER), 403)]:
        browser = browsers.anonymous()
        response = browser.sign_in(key)
        assert response.status_code == status, key
        assert COOKIE not in browser.http.cookies
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert not key or key not in response.text


def test_forms_need_the_token_of_their_own_session(running: Any, browsers: Any) -> None:
    signed_in, other = browsers.of(Role.ANALYST), browsers.of(Role.ANALYST)
    foreign = other.token("/console/campaigns")
    for token in ("", foreign, "é", signed_in.token("/console/campaigns") + "0"):
        assert signed_in.http.post("/console/sign-out", data={"token": token}).status_code == 403, token
    assert signed_in.http.post("/console/sign-out", json={"token": "x"}).status_code == 415
    assert signed_in.http.post("/console/sign-out", data={"token": "x" * 70_000}).status_code == 413
    broken = {"Content-Type": "application/x-www-form-urlencoded"}
    assert signed_in.http.post("/console/sign-out", content=b"token=%ff", headers=broken).status_code == 400
    signed_in.page("/console/campaigns")
    # No cookie of the sign-in page: another site may have sent the form.
    visitor = browsers.anonymous()
    token = visitor.token("/console/sign-in")
    assert browsers.anonymous().http.post("/console/sign-in", data={"token": token, "key": "x"}).status_code == 403


def test_a_session_that_ended_takes_no_form_with_it(running: Any, browsers: Any) -> None:
    browser = browsers.of(Role.ANALYST)
    filled = {"token": "x", "once": "1", "yaml": "name: <b>late</b>\nqueries: prefix", "users": " ", "epsilon": "1"}
    own, foreign = {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "cross-site"}
    refused = browser.http.post("/console/new-campaign", data=filled, headers=own)
    running.clock.advance(13 * 3600)
    ended = browser.http.post("/console/new-campaign", data=filled, headers=own)
    assert (refused.status_code, ended.status_code) == (403, 401)
    for answer in (refused, ended):
        assert "name: &lt;b&gt;late&lt;/b&gt;\nqueries: prefix" in answer.text
        assert re.findall("<dt>(.*?)</dt>", answer.text) == ["yaml", "epsilon"]
    # Another site puts no text on a page of this server.
    for headers in (foreign, {}):
        assert "queries: prefix" not in browser.http.post("/console/new-campaign", data=filled, headers=headers).text
    key = browser.http.post("/console/sign-in", data={"key": running.admin_key, "token": "x"}, headers=own)
    assert (key.status_code, running.admin_key in key.text) == (403, False)


def test_strangers_at_ones_address_use_up_no_attempt_of_a_key(running: Any, browsers: Any) -> None:
    """One NAT has one address: a stranger behind it shut everybody else out."""
    mine, other = running.key(Role.ANALYST), running.key(Role.ADMIN)
    stranger = browsers.anonymous()
    made_up = [f"sdo_admin_{number:016x}_{'0' * 64}" for number in range(14)]
    with counted_queries(running.database) as queries:
        refused = [stranger.sign_in(key).status_code for key in made_up]
    assert refused == [401] * 10 + [429] * 4
    # Ten looked for a key; the list of keys is read once a second.
    assert len([each for each in queries if "WHERE keys.id" in each]) == 10
    assert browsers.anonymous().sign_in(mine).status_code == 303
    # Guesses at the secret of one key count for it alone.
    guesses = [stranger.sign_in(mine[:-1] + "x").status_code for _ in range(10)]
    assert guesses == [401] * 9 + [429]
    assert browsers.anonymous().sign_in(mine).status_code == 429
    assert browsers.anonymous().sign_in(other).status_code == 303


@contextmanager
def counted_queries(database: Database) -> Iterator[list[str]]:
    """The statements that the database is sent meanwhile."""
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    yield statements
    event.remove(database.engine, "before_cursor_execute", note)


def test_attempts_from_an_address_are_limited(browsers: Any) -> None:
    browser = browsers.anonymous()
    answers = [browser.sign_in("sdo_admin_x_y") for _ in range(11)]
    assert [each.status_code for each in answers] == [401] * 10 + [429]
    assert answers[-1].headers["retry-after"] == "10"
    assert "Try again in 10 s" in answers[-1].text


HERE = "http://127.0.0.1:8000"
FORWARDING = [
    "Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Proto",
    "X-Forwarded-Server", "X-Original-Host", "X-Original-URL", "X-Client-IP", "True-Client-IP", "CF-Connecting-IP",
    "CF-Ray", "CDN-Loop", "X-Envoy-External-Address", "X-Amzn-Trace-Id", "Fastly-Client-IP", "X-Cluster-Client-IP",
]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "peer", "forwarded", "status", "secure"),
    [
        (HERE, "127.0.0.1", {}, 200, False),
        ("http://localhost:8000", "127.0.0.1", {}, 200, False),
        ("http://LocalHost", "::1", {}, 200, False),
        ("http://[::1]:8000", "::1", {}, 200, False),
        ("http://127.8.9.10", "127.0.0.1", {}, 200, False),
        # Another site's name that was made to mean this machine, and names that only begin as this machine's do.
        ("http://server.example", "127.0.0.1", {}, 403, False),
        ("http://127.0.0.1.evil.example", "127.0.0.1", {}, 403, False),
        ("http://localhost.evil.example", "127.0.0.1", {}, 403, False),
        ("http://0.0.0.0:8000", "127.0.0.1", {}, 403, False),
        ("http://10.0.0.7:8000", "127.0.0.1", {}, 403, False),
        (HERE, "192.0.2.7", {}, 403, False),
        *((HERE, "127.0.0.1", {name: "192.0.2.7"}, 403, False) for name in FORWARDING),
        (HERE, "192.0.2.7", {"X-Forwarded-Proto": "https"}, 403, False),
        ("http://server.example", "10.0.0.1", {"X-Forwarded-Proto": "https"}, 200, True),
        ("http://server.example", "10.0.0.1", {"X-Forwarded-Proto": "https", "X-Real-IP": "192.0.2.7"}, 200, True),
        ("http://server.example", "10.0.0.1", {"X-Forwarded-Proto": "https, http"}, 403, False),
        ("https://server.example", "192.0.2.7", {}, 200, True),
        ("https://SERVER.example:8443", "192.0.2.7", {}, 200, True),
        ("https://other.example", "192.0.2.7", {}, 403, True),
        (HERE, "172.18.0.1", {}, 200, False),
        ("http://server:8000", "172.18.0.1", {}, 403, False),
        (HERE, "172.18.0.1", {"X-Forwarded-For": "192.0.2.7"}, 403, False),
    ],
)
def test_keys_never_cross_a_network_in_the_clear(
    migrated_sqlite_url: str, url: str, peer: str, forwarded: dict[str, str], status: int, secure: bool
) -> None:
    database = Database(migrated_sqlite_url)
    settings = Settings(
        trusted_proxies="10.0.0.0/8", console_networks="172.16.0.0/12", public_hosts="server.example, [2001:db8::1]"
    )
    app = create_app(settings, database, ManualClock())

    async def visit() -> tuple[httpx.Response, httpx.Response, httpx.Response]:
        async with _client(app, url, peer, forwarded) as client:
            page = await client.get("/console/sign-in")
            token = page.headers.get("set-cookie", "sordino_sign_in=;").partition("=")[2].partition(";")[0]
            prefix = "__Host-" if secure else ""
            cookie = {"Cookie": f"{prefix}sordino_sign_in={token}; {prefix}{COOKIE}=x"}
            sent = {"key": "sdo_admin_x_y", "token": token}
            answer = await client.post("/console/sign-in", data=sent, headers=cookie)
            return page, answer, await client.get("/console/campaigns", headers=cookie)

    page, answer, inside = asyncio.run(visit())
    assert page.status_code == status
    assert ("Secure" in page.headers.get("set-cookie", "")) == (secure and status == 200)
    assert answer.status_code == (401 if status == 200 else 403)
    # A session is a key for twelve hours.
    assert inside.status_code == (303 if status == 200 else 403)
    for each in (page, answer, inside):
        assert each.headers.get("strict-transport-security") == ("max-age=31536000" if secure else None)
    database.close()


@pytest.mark.parametrize(
    ("version", "hosts", "status"),
    [
        ("1.1", ["127.0.0.1"], 200),
        ("1.1", [], 400),
        ("1.1", [""], 400),
        ("1.1", ["127.0.0.1", "server.example"], 400),
        ("1.1", ["server.example", "127.0.0.1"], 400),
        ("1.1", ["127.0.0.1", "127.0.0.1"], 400),
        ("1.1", ["127.0.0.1:80:80"], 400),
        ("1.1", ["127.0.0.1@evil.example"], 403),
        # As a proxy asks that adds no header of its own.
        ("1.0", ["127.0.0.1"], 403),
    ],
)
def test_a_request_has_one_host(running: Any, version: str, hosts: list[str], status: int) -> None:
    address = urlsplit(running.address)
    with socket.create_connection((address.hostname, address.port), PATIENCE_S) as connection:
        lines = [f"GET /console/sign-in HTTP/{version}", *(f"Host: {each}" for each in hosts), "Connection: close"]
        connection.sendall("".join(f"{line}\r\n" for line in [*lines, ""]).encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.split(b" ")[1] == str(status).encode(), answer[:500]


def _link(running: Any, key: str) -> str:
    made = running.client(key).post("/console/sign-in-links")
    assert made.status_code == 201, made.text
    assert made.json()["expires_at"] == running.clock.now() + 60
    path, _, token = made.json()["path"].partition("#")
    assert path == "/console/sign-in"
    return str(token)


def test_a_link_signs_in_once_within_a_minute(running: Any, browsers: Any) -> None:
    key = running.key(Role.ANALYST)
    link, page, target = _link(running, key), "/console/sign-in", "/console/sign-in-link"
    browser = browsers.anonymous()
    assert "/console/static/link.js" in browser.page(page)
    assert browser.http.post(target, data={"link": link}).status_code == 403
    assert browser.send(target, page, link=link + "x").status_code == 401
    used = browser.send(target, page, link=link)
    assert (used.status_code, used.headers["location"]) == (303, "/console/questions")
    browser.page("/console/campaigns")
    again = browsers.anonymous().send(target, page, link=link)
    assert (again.status_code, link in again.text) == (401, False)
    late = _link(running, key)
    running.clock.advance(60)
    assert browsers.anonymous().send(target, page, link=late).status_code == 401
    last = _link(running, key)
    running.api.delete(f"/v1/keys/{key.split('_')[2]}").raise_for_status()
    assert browsers.anonymous().send(target, page, link=last).status_code == 401
    with running.database.read("test") as session:
        (row,) = session.scalars(select(SignInLink))
    assert row.token_sha256 == hashlib.sha256(last.encode()).hexdigest()


def test_links_are_for_operators_and_for_this_machine(running: Any, migrated_sqlite_url: str) -> None:
    assert running.anonymous.post("/console/sign-in-links").status_code == 401
    assert running.client(running.key(Role.UPLOADER)).post("/console/sign-in-links").status_code == 403
    link = _link(running, running.key(Role.ANALYST))

    async def visit(url: str, peer: str, headers: dict[str, str]) -> int:
        async with _client(running.app, url, peer, headers) as client:
            data = {"link": link, "token": "x"}
            cookie = {"Cookie": "sordino_sign_in=x"}
            return (await client.post("/console/sign-in-link", data=data, headers=cookie)).status_code

    # Also over TLS, under another name, and for what a proxy on this machine forwards.
    assert asyncio.run(visit("https://server.example", "192.0.2.7", {})) == 403
    assert asyncio.run(visit("http://server.example", "127.0.0.1", {})) == 403
    assert asyncio.run(visit(HERE, "127.0.0.1", {"X-Forwarded-For": "192.0.2.7"})) == 403
    assert asyncio.run(visit(HERE, "127.0.0.1", {"Via": "1.1 proxy"})) == 403
    assert asyncio.run(visit(HERE, "127.0.0.1", {})) == 303


def test_off_takes_all_of_it_away(migrated_sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_CONSOLE", "off")
    database = Database(migrated_sqlite_url)
    app = create_app(Settings(), database, ManualClock())

    async def visit() -> list[int]:
        async with _client(app, HERE, "127.0.0.1", {}) as client:
            paths = ("/console", "/console/sign-in", "/console/campaigns", "/console/static/console.css", "/docs")
            return [(await client.get(path)).status_code for path in paths]

    assert asyncio.run(visit()) == [404, 404, 404, 404, 200]
    database.close()
