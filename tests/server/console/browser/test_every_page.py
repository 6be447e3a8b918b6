"""Every page in a browser: accessible, no wider than a phone, without an error; screenshots are kept."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sordino_server.models import Role
from tests.patience import PATIENCE_S
from tests.server.answers.test_string_searches_api import estimated
from tests.server.console.browser.conftest import DESKTOP, PHONE, Window
from tests.server.console.test_pages import OTHER_GETS, PAGES, READ, known

__all__ = ["known"]


def _name(path: str) -> str:
    return re.sub(r"[^a-z]+", "-", re.sub(r"\{[^}]*\}", "one", path.removeprefix("/console/"))).strip("-")


def _whole_pages(window: Window, known: dict[str, str]) -> list[str]:
    """Every path that shows a page: those of the table of roles, forms among the others, answers to a question."""
    others = [path for path, roles in OTHER_GETS.items() if roles == READ]
    found = [path for path in others if "<h1" in window.page.request.get(window.address + path.format(**known)).text()]
    assert found, others
    return [*PAGES, *found, "/console/campaigns/{campaign_id}/answers?pick=..15"]


def look_at(window: Window, address: str, name: str) -> None:
    """In light and dark, at a desk and on a phone."""
    window.page.emulate_media(color_scheme="light")
    window.page.set_viewport_size(DESKTOP)
    window.open(address)
    assert window.page.url == window.address + address
    assert not window.unseen_pictures(), address
    window.keep(f"{name}-1440")
    assert not (found := window.violations()), (address, found)
    window.page.emulate_media(color_scheme="dark")
    window.page.set_viewport_size(PHONE)
    assert not (found := window.violations()), (address, "dark", found)
    assert not (found := window.overflow()), (address, found)
    window.keep(f"{name}-390-dark")


def test_pages_are_accessible_and_fit_a_phone(window: Window, known: dict[str, str]) -> None:
    for path in _whole_pages(window, known):
        look_at(window, path.format(**known), _name(path))


def _opened(running: Any, **terms: Any) -> dict[str, Any]:
    """A campaign with these terms that is open."""
    named = {"name": "delays", "purpose": "We ask how late you were.", "population": "travellers", **terms}
    order = named | {"plan_request": running.ready_plan()["id"]}
    campaign: dict[str, Any] = running.api.post("/v1/campaigns", json=order).raise_for_status().json()
    running.api.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()
    return campaign


def test_so_are_the_pages_of_a_series_and_of_public_campaigns(window: Window, running: Any) -> None:
    """A public campaign that is open, one with an estimate, and a series of three periods."""
    opened, closed = _opened(running, public=True), _opened(running, public=True, name="later")
    assert running.report(closed, [0, 1, 2, 3] * 25).status_code == 200
    running.api.post(f"/v1/campaigns/{closed['id']}/close").raise_for_status()
    running.work()
    series = _opened(running, name="daily", series={"slots": 7, "answers_max": 12})
    running.clock.advance(3 * 86_400)
    running.work()
    # The first session has ended since.
    window.sign_in(running.key(Role.ADMIN))
    for name, path in (
        ("status-open", f"/status/{opened['id']}"),
        ("status-closed", f"/status/{closed['id']}"),
        ("series", f"/console/campaigns/{series['id']}/series"),
    ):
        look_at(window, path, name)


def test_so_is_the_page_of_wider_searches_which_follows_one_by_itself(window: Window, running: Any) -> None:
    campaign = estimated(running).removeprefix("/v1")
    page = window.page
    window.open(f"/console{campaign}/estimate")
    page.get_by_role("link", name="Search with a wider beam").click()
    page.get_by_label("Beam, up to").fill("60")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("progressbar").wait_for()
    assert not window.violations()
    running.work()
    # The page loads itself again when the search has ended.
    seen = page.get_by_role("region", name="Seen")
    seen.wait_for(timeout=1000 * PATIENCE_S)
    assert seen.get_by_text("a<U+202E>b", exact=True).count() == 1
    assert seen.get_by_role("link").count() == 0
    look_at(window, f"/console{campaign}/strings?beam=60", "string-search")


def test_a_fault_of_a_page_is_found(window: Window, known: dict[str, str]) -> None:
    """The checks above can fail: a page without a language and with grey on grey, a blocked script, a lost picture."""
    window.open("/console/keys")
    window.page.evaluate("document.documentElement.removeAttribute('lang')")
    window.page.evaluate("document.querySelector('h1').style.color = '#bbbbbb'")
    found = " ".join(window.violations())
    assert "html-has-lang" in found
    assert "color-contrast" in found
    script = "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
    window.page.evaluate(script)
    window.page.evaluate("document.body.append(Object.assign(new Image(), {src: '/console/static/none.png'}))")
    window.page.evaluate("document.querySelector('main').style.minWidth = '2000px'")
    assert window.overflow()
    window.page.wait_for_function("[...document.images].every(image => image.complete)")
    assert window.unseen_pictures()
    assert window.page.evaluate("window.ran") is None
    faults = " ".join(window.faults)
    assert "Content Security Policy" in faults
    assert "none.png" in faults
    window.faults.clear()


@pytest.mark.usefixtures("known")
def test_pages_are_used_by_keyboard(window: Window) -> None:
    """The first key press reaches a link to the content, and the focus can be seen."""
    window.open("/console/campaigns")
    window.page.keyboard.press("Tab")
    assert window.page.evaluate("document.activeElement.textContent") == "Skip to the content"
    window.page.keyboard.press("Enter")
    for _ in range(12):
        window.page.keyboard.press("Tab")
        if window.page.evaluate("document.activeElement.textContent") == "delays":
            break
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert window.page.evaluate(outline) == "solid"
    window.page.keyboard.press("Enter")
    window.page.get_by_role("heading", name="delays").wait_for()


def test_without_javascript_every_page_works(chromium: Any, running: Any, known: dict[str, str]) -> None:
    context = chromium.new_context(java_script_enabled=False)
    window = Window(running.address, context.new_page())
    window.sign_in(running.key(Role.ADMIN))
    for path in PAGES:
        assert window.open(path.format(**known)).ok, path
        assert window.page.locator("main h1").count() == 1
    assert not window.faults
    context.close()
