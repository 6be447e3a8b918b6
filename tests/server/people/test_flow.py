"""Where a sign-in leads, what its cookie may have, and how it ends."""

from __future__ import annotations

import base64
import threading
import time
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from sordino_server.console import cookies, person_sign_in
from sordino_server.console.cookies import SESSION as COOKIE
from sordino_server.models import ConsoleSession
from sordino_server.people.flow import Flow, local_page
from sordino_server.people.provider import IssuerFailed
from tests.server.people.conftest import PERSON, Site

START = "/console/questions"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "/console/../../\\evil",
        "/console/../docs",
        "/console/..//evil.example",
        "/console/%2e%2e/docs",
        "/console/.%2E/docs",
        "/console/./sign-in/person",
        "/console/campaigns/..",
        "/console/\r\nSet-Cookie: a=b",
        "/console//evil.example@",
        "javascript:alert(1)",
        "/console/sign-out",
        "/console/sign-in/person",
        "/docs",
    ],
)
def test_what_is_no_page_of_the_console_becomes_the_first_one(elsewhere: str) -> None:
    assert local_page(elsewhere) == START


@pytest.mark.parametrize("page", ["/console/plans?limit=5", "/console/keys?next=a..b", "/console/log/x.json"])
def test_a_page_of_the_console_is_where_it_goes(page: str) -> None:
    assert local_page(page) == page


def test_a_cookie_of_many_brackets_is_no_flow() -> None:
    """Python's JSON gives up on depth with another error than on syntax."""
    assert Flow.of_cookie(base64.urlsafe_b64encode(b"[" * 30_000).decode(), "x" * 43) is None


def test_only_a_known_session_is_renewed_in_silence() -> None:
    for before, silent in (("", True), ("x" * 64, True)):
        flow = Flow("/console/plans", before, silent)
        read = Flow.of_cookie(flow.cookie, flow.state)
        assert read is not None
        assert (read.before, read.silent) == ("", False)


def sessions(site: Site) -> int:
    with site.running.database.read() as session:
        return len(session.scalars(select(ConsoleSession)).all())


def test_a_refused_flow_ends_too(site: Site) -> None:
    site.issuer.signed_in = "eve-3"
    browser = site.browsers.anonymous()
    address = site.answer(browser)
    assert "none of your groups" in browser.http.get(address).text
    assert "did not begin in this browser" in browser.http.get(address).text


def test_a_sign_in_ends_the_session_whose_cookie_does_not_come_back(site: Site) -> None:
    """A browser sends the Strict cookie on the way there, and none on the way back."""
    browser = site.browsers.anonymous()
    assert browser.sign_in(site.running.admin_key).status_code == 303
    site.issuer.signed_in = "bob-2"
    address = site.answer(browser)
    browser.http.cookies.delete(COOKIE)
    assert browser.http.get(address).status_code == 200
    assert sessions(site) == 1
    assert "bob-2 (analyst)" in browser.page("/console/campaigns")


def test_who_signs_out_while_the_provider_is_down_is_signed_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def down() -> Any:
        raise IssuerFailed("does not answer as it should")

    browser = site.of("bob-2")
    monkeypatch.setattr(site.running.app.state.provider, "metadata", down)
    response = browser.send("/console/sign-out", "/console/campaigns")
    assert (response.status_code, "has ended" in response.text) == (200, True)
    assert COOKIE not in browser.http.cookies
    assert sessions(site) == 0


def test_a_provider_that_hangs_has_four_threads(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others wait in the event loop, and devices have the rest of the threads."""
    within, most, lock, go_on = 0, 0, threading.Lock(), threading.Event()

    def hang(*_: object, **__: object) -> str:
        nonlocal within, most
        with lock:
            within += 1
            most = max(most, within)
        go_on.wait(60)
        with lock:
            within -= 1
        raise IssuerFailed("does not answer as it should")

    monkeypatch.setattr(site.running.app.state.provider, "authorization", hang)
    statuses: list[int] = []

    def begin() -> None:
        statuses.append(httpx.get(site.running.address + PERSON, timeout=60).status_code)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for each in threads:
        each.start()
    # Time in which more than four would come.
    time.sleep(0.5)
    go_on.set()
    for each in threads:
        each.join()
    assert statuses == [503] * 8
    assert most <= 4


def test_made_up_flows_ask_the_provider_a_bounded_number_of_times(site: Site) -> None:
    """Whoever makes a secret has a flow that fits: only the provider knows that there was no code."""
    # A busy machine takes seconds for these requests, in which an address would be given more.
    site.running.app.state.exchange_limit._tick = lambda: 0.0
    client = site.browsers.anonymous().http
    statuses = []
    for _ in range(person_sign_in.EXCHANGES_AT_ONCE + 5):
        flow = Flow(START)
        cookie = f"{cookies.FLOW}{flow.state[:16]}={flow.cookie}"
        asked = {"state": flow.state, "code": "x"}
        statuses.append(client.get("/console/sign-in/callback", params=asked, headers={"Cookie": cookie}).status_code)
    assert statuses == [403] * person_sign_in.EXCHANGES_AT_ONCE + [429] * 5
