"""A console whose people come from an OpenID provider on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from tests.openid_issuer import CLIENT, SECRET, OpenIdIssuer, open_id_issuer
from tests.server.conftest import RunningServer, served
from tests.server.console.conftest import Browser, Browsers

ROLES = json.dumps({"admin": ["sordino-admins"], "analyst": ["data, science", "stats"]})
PERSON = "/console/sign-in/person"


def oidc_settings(issuer: OpenIdIssuer) -> dict[str, Any]:
    """What a server needs for this provider."""
    return {
        "people": "oidc",
        "people_roles": ROLES,
        "oidc_issuer": issuer.address,
        "oidc_client_id": CLIENT,
        "oidc_client_secret": SecretStr(SECRET),
    }


@dataclass
class Site:
    """A server, its provider, and browsers."""

    running: RunningServer
    issuer: OpenIdIssuer
    browsers: Browsers

    def answer(self, browser: Browser, **asked: str) -> str:
        """The address to which the provider sends a browser back that begins to sign in."""
        begun = browser.http.get(PERSON, params=asked)
        assert begun.status_code == 303, begun.text
        location = httpx.get(begun.headers["location"]).headers["location"]
        assert location.startswith(self.running.address + "/console/sign-in/callback?")
        return str(location)

    def enter(self, browser: Browser, **asked: str) -> httpx.Response:
        """The whole way to the provider and back."""
        return browser.http.get(self.answer(browser, **asked))

    def of(self, subject: str) -> Browser:
        """A browser in which a person signed in."""
        self.issuer.signed_in = subject
        browser = self.browsers.anonymous()
        response = self.enter(browser)
        assert response.status_code == 200, response.text
        return browser


@pytest.fixture(scope="session")
def _one_issuer() -> Iterator[OpenIdIssuer]:
    with open_id_issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(_one_issuer: OpenIdIssuer) -> OpenIdIssuer:
    """A provider that knows three people."""
    one = _one_issuer
    one.people = {
        "ada-1": {"groups": ["sordino-admins", "x"], "name": "Ada", "email": "ada@example.org"},
        "bob-2": {"groups": ["data, science"]},
        "eve-3": {"groups": ["data", "science", "x,sordino-admins"]},
    }
    one.signed_in, one.encode = None, None
    one.metadata = one.claims = dict
    one.asked.clear()
    return one


@pytest.fixture
def site(migrated_sqlite_url: str, issuer: OpenIdIssuer) -> Iterator[Site]:
    """A server on SQLite whose people come from the provider."""
    with served(migrated_sqlite_url, **oidc_settings(issuer)) as running:
        browsers = Browsers(running)
        yield Site(running, issuer, browsers)
        browsers.close()
