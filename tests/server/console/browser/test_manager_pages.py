"""Opening, running and budget in a browser: clicks, widths and axe; price and devices for ± 2 take one click."""

from __future__ import annotations

from typing import Any

from tests.server.console.browser.conftest import DESKTOP, PHONE, Window
from tests.server.console.browser.test_journeys import Hand, visited
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


def test_price_and_devices_take_one_click_and_opening_two(visited: Window, running: Any, asked: Asked) -> None:
    price = Hand(visited, "price")
    price.click("link", "late buses")
    price.sees("The price")
    price.sees("± 2 takes 39,368 devices")
    assert visited.page.locator(".button.main").count() == 1

    opening = Hand(visited, "open")
    opening.click("link", "late buses")
    opening.click("button", "Open the question")
    opening.sees("Collecting since")
    assert running.api.get(f"/v1/campaigns/{asked.draft}/status").json()["state"] == "open"

    devices = Hand(visited, "devices for ± 2")
    devices.click("link", "late trains")
    devices.sees("± 2 takes 39,368")

    left = Hand(visited, "what is left")
    left.click("link", "Budget")
    left.click("link", "travellers")
    left.sees("What would still fit")


def test_these_pages_are_accessible_at_a_desk_and_on_a_phone(window: Window, asked: Asked) -> None:
    for name, path in _pages(asked).items():
        window.open(path)
        for size in (DESKTOP, PHONE):
            window.page.set_viewport_size(size)
            assert not (found := window.violations()), (name, size, found)
            assert not (found := window.overflow()), (name, size, found)
