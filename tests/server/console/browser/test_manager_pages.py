"""Opening, running and budget in a browser: clicks, widths and axe; price and devices for ± 2 take one click."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.console.browser.conftest import DESKTOP, PHONE, Window
from tests.server.console.browser.test_journeys import WIDTHS, Hand, visited
from tests.server.console.test_manager_pages import BUDGET, Asked, asked

__all__ = ["asked", "visited"]


def _pages(asked: Asked) -> dict[str, str]:
    base = "/console/campaigns"
    return {
        "opening": f"{base}/{asked.draft}/actions/open",
        "draft": f"{base}/{asked.draft}",
        "running": f"{base}/{asked.live}",
        "cancelled": f"{base}/{asked.cancelled}",
        "cancel": f"{base}/{asked.live}/actions/cancel",
        "budget": BUDGET,
        "budgets": "/console/populations",
    }


def test_price_and_opening_take_two_clicks(visited: Window, running: Any, asked: Asked) -> None:
    price = Hand(visited)
    price.click("link", "late buses")
    price.sees("The price")
    price.sees("± 2 takes 39,368 devices")
    assert price.clicks == 1
    assert visited.page.locator(".button.main").count() == 1
    price.click("button", "Open the question")
    price.sees("Collecting since")
    assert price.clicks == 2
    assert running.api.get(f"/v1/campaigns/{asked.draft}/status").json()["state"] == "open"

    devices = Hand(visited)
    devices.click("link", "late trains")
    devices.sees("± 2 takes 39,368")
    devices.sees("Opened by test")
    assert devices.clicks == 1

    budget = Hand(visited)
    budget.click("link", "Budget")
    budget.click("link", "travellers")
    budget.sees("What would still fit")
    assert budget.clicks == 2


def test_these_pages_are_accessible_at_a_desk_and_on_a_phone(window: Window, asked: Asked) -> None:
    for name, path in _pages(asked).items():
        window.open(path)
        for size in (DESKTOP, PHONE):
            window.page.set_viewport_size(size)
            assert not (found := window.violations()), (name, size, found)
            assert not (found := window.overflow()), (name, size, found)


@pytest.mark.slow
def test_these_pages_fit_every_width_in_light_and_dark(window: Window, asked: Asked) -> None:
    for name, path in _pages(asked).items():
        window.open(path)
        for width in WIDTHS:
            window.page.set_viewport_size({"width": width, "height": 900})
            for scheme in ("light", "dark"):
                window.page.emulate_media(color_scheme=scheme)
                assert not (found := window.violations()), (name, width, scheme, found)
                window.keep(f"{name}-{width}-{scheme}")
            assert not (found := window.overflow()), (name, width, found)
