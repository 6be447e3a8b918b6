"""A sign-in link in a browser: its script takes the token out of the address and signs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sordino_server.models import Role
from tests.server.console.browser.conftest import Window

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_a_link_opens_the_console_and_leaves_no_token_in_the_address(chromium: Browser, running: Any) -> None:
    key = running.key(Role.ANALYST)
    link = running.client(key).post("/console/sign-in-links").raise_for_status().json()["path"]
    context = chromium.new_context(base_url=running.address)
    window = Window(running.address, context.new_page())
    window.page.goto(running.address + link)
    window.page.wait_for_url("**/console/questions")
    assert "Sign out" in window.page.content()
    window.page.go_back()
    assert "#" not in window.page.url
    assert not window.faults
    context.close()
