"""Browsers without JavaScript: they keep cookies, follow links and send the forms that a page has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

import httpx
import pytest

from sordino_server.models import Role
from tests.patience import PATIENCE_S

HIDDEN = re.compile(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)">')


@dataclass
class Browser:
    """A browser of one operator, or of nobody."""

    http: httpx.Client

    def page(self, path: str, status: int = 200) -> str:
        """The text of a page, which must be answered with `status`."""
        response = self.http.get(path)
        assert response.status_code == status, (path, response.status_code, response.text[:500])
        return response.text

    def token(self, path: str) -> str:
        """The token of the forms of a page."""
        return self.form(path)["token"]

    def form(self, path: str) -> dict[str, str]:
        """The hidden fields of a form of a page, the last where it has several."""
        return {name: unescape(value) for name, value in HIDDEN.findall(self.page(path))}

    def send(self, path: str, page: str, **fields: str) -> httpx.Response:
        """Post a form of `page` with its hidden fields."""
        return self.http.post(path, data={**self.form(page), **fields})

    def sign_in(self, key: str) -> httpx.Response:
        """Send the form of the first page."""
        return self.send("/console/sign-in", "/console/sign-in", key=key)


class Browsers:
    """Makes browsers that ask one server."""

    def __init__(self, running: Any) -> None:
        self._running = running
        self._made: list[httpx.Client] = []

    def anonymous(self, **headers: str) -> Browser:
        """A browser that has not signed in."""
        client = httpx.Client(base_url=self._running.address, timeout=PATIENCE_S, headers=headers)
        self._made.append(client)
        return Browser(client)

    def of(self, role: Role) -> Browser:
        """A browser signed in with a new key of `role`."""
        browser = self.anonymous()
        response = browser.sign_in(self._running.key(role))
        assert response.status_code == 303, response.text
        return browser

    def close(self) -> None:
        for client in self._made:
            client.close()


@pytest.fixture
def browsers(running: Any) -> Any:
    """Browsers for the server on SQLite."""
    made = Browsers(running)
    yield made
    made.close()
