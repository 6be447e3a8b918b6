"""A person signs in through an OpenID provider, in a browser for which it is another site."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.openid_issuer import OpenIdIssuer, open_id_issuer
from tests.server.conftest import served
from tests.server.console.browser.conftest import Window
from tests.server.people.conftest import oidc_settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def issuer() -> Iterator[OpenIdIssuer]:
    with open_id_issuer() as made:
        made.people = {"ada-1": {"groups": ["sordino-admins"], "name": "Ada"}}
        yield made


def test_the_whole_way_and_the_silent_one(chromium: Browser, migrated_sqlite_url: str, issuer: OpenIdIssuer) -> None:
    with served(migrated_sqlite_url, **oidc_settings(issuer)) as running:
        context = chromium.new_context(base_url=running.address)
        window = Window(running.address, context.new_page())
        page = window.page
        # A page that was asked for is the page that one comes to.
        page.goto(running.address + "/console/audit-log")
        page.get_by_role("link", name="Sign in with localhost").click()
        page.get_by_label("Who").fill("ada-1")
        page.get_by_role("button", name="Go").click()
        page.get_by_role("heading", name="Audit log").wait_for()
        assert page.url == running.address + "/console/audit-log"
        assert "Ada (admin)" in page.inner_text("header")
        assert f"person:{issuer.address}#ada-1" in page.inner_text("main")
        # A quarter of an hour later: to the provider and back, without a question.
        running.clock.advance(901)
        page.goto(running.address + "/console/keys")
        page.get_by_role("heading", name="Keys").wait_for()
        page.get_by_label("Name").fill("robot")
        page.get_by_label("Role").select_option("analyst")
        page.get_by_role("button", name="Create a key").click()
        page.get_by_text("sdo_").wait_for()
        # The person is removed at the provider.
        del issuer.people["ada-1"]
        running.clock.advance(901)
        page.goto(running.address + "/console/keys")
        page.get_by_role("heading", name="Sign in").wait_for()
        assert not context.cookies(running.address + "/console/sign-in/callback") or "flow" not in str(
            context.cookies(running.address + "/console/sign-in/callback")
        )
        page.goto(running.address + "/console/campaigns")
        page.get_by_role("heading", name="Sign in").wait_for()
        faults: list[Any] = [each for each in window.faults if issuer.address not in each]
        assert not faults
        assert not window.violations()
        context.close()
