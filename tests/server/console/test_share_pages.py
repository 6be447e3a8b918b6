"""The form of a result makes a link once, and takes it back."""

from __future__ import annotations

import re
from typing import Any

from sordino_server.models import Role
from sordino_server.share_links import service
from tests.server.console.test_question_pages import MOST_BYTES, answered, seen
from tests.server.series.conftest import begin

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
    # The button's own address, which is below the page's.
    assert f'formaction="share-links/{link["id"]}/revoke"' in browser.page(page)
    assert browser.send(f"{path}/{link['id']}/revoke", page).status_code == 303
    assert running.anonymous.get(address[0]).status_code == 404
    assert "revoked" in browser.page(page)


def test_a_page_of_many_links_stays_small(running: Any, browsers: Any) -> None:
    campaign = answered(running, "x" * 200, CELLS)
    links = f"/v1/campaigns/{campaign}/share-links"
    for number in range(service.MOST_ALIVE + 30):
        made = running.api.post(links, json={"until": None}).json()
        if number < 30:
            running.api.delete(f"{links}/{made['id']}").raise_for_status()
    page = browsers.of(Role.ANALYST).page(f"/console/campaigns/{campaign}/estimate")
    assert len(page.encode()) <= MOST_BYTES
    assert page.count(">Revoke</button>") == service.MOST_ALIVE
    assert page.count("; revoked ") == 10
    assert "20 older links" in page


def test_a_cancelled_series_is_called_so_and_offers_no_link(running: Any, browsers: Any) -> None:
    series = begin(running)
    series.at(0, 60)
    series.report(0, [0] * 300).raise_for_status()
    series.at(2, 60)
    running.work()
    page, browser = f"/console/campaigns/{series.id}/estimate", browsers.of(Role.ANALYST)
    assert "Make the link" in browser.page(page)
    running.api.post(f"/v1/campaigns/{series.id}/cancel").raise_for_status()
    shown = seen(browser.page(page, 409))
    assert "was cancelled: it has no answers" in shown
    assert "Answered" not in shown
    assert "%" not in shown
    assert "Make the link" not in shown
