"""The form of a result makes a link once, and takes it back."""

from __future__ import annotations

import re
from typing import Any

from sordino_server.models import Role
from tests.server.console.test_question_pages import answered

CELLS = [0] * 600 + [1] * 300 + [3] * 100


def test_a_form_makes_one_link_and_takes_it_back(running: Any, browsers: Any) -> None:
    campaign = answered(running, "late trains", CELLS)
    page, path = f"/console/campaigns/{campaign}/estimate", f"/console/campaigns/{campaign}/share-links"
    browser = browsers.of(Role.ANALYST)
    fields = browser.form(page) | {"until": "7"}
    first, again = (browser.http.post(path, data=fields) for _ in range(2))
    address = re.search(r"http://[^<]*/shared/[A-Za-z0-9_-]{43}", first.text)
    assert (first.status_code, again.status_code) == (201, 201)
    assert address is not None
    assert "/shared/" not in again.text
    assert running.anonymous.get(address[0]).status_code == 200
    assert browser.send(path, page, until="30 years").status_code == 422
    [link] = running.api.get(f"/v1/campaigns/{campaign}/share-links").json()["share_links"]
    assert link["until"] == running.clock.now() + 7 * 86_400
    assert "1 opening" in browser.page(page)
    assert browser.send(f"{path}/{link['id']}/revoke", page).status_code == 303
    assert running.anonymous.get(address[0]).status_code == 404
    assert "revoked" in browser.page(page)
