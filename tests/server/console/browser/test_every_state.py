"""Every page of the console, with a question in every state and hostile names: axe, widths, dark, sizes, requests."""

from __future__ import annotations

from typing import Any

import pytest

from sordino_server.models import Role
from tests.server.console.browser.conftest import Window
from tests.server.console.browser.every_state import HOSTILE, pages_of_every_state
from tests.server.console.test_question_pages import MOST_BYTES

WIDTHS = (320, 390, 768, 1440)
# Page, stylesheet and one script or picture, besides the icon, which browsers keep.
FIRST_VIEW = 3
# Pages that change by themselves have two scripts, and plans have two pictures and a row for each ε.
MORE = {
    "result-strings": 1, "answers": 1, "compare": 1, "experiment": 1, "series": 1, "new": 2, "new-campaign": 1,
    "empty": 1, "collecting": 1, "series-campaign": 1, "experiment-campaign": 1, "plan": 3, "plan-waiting": 3,
    "plan-users": 7,
}  # fmt: skip


@pytest.mark.slow
def test_every_page_in_every_state_fits_every_width(window: Window, running: Any) -> None:
    pages = pages_of_every_state(running)
    # The first session has ended since.
    window.sign_in(running.key(Role.ADMIN))
    asked: list[str] = []
    window.page.on("request", lambda request: asked.append(request.url))
    for name, path in pages.items():
        asked.clear()
        window.page.emulate_media(color_scheme="light")
        response = window.open(path)
        assert len(response.body()) <= MOST_BYTES, name
        text = response.text()
        assert HOSTILE not in text, name
        assert "<b>late" not in text, name
        for width in WIDTHS:
            window.page.set_viewport_size({"width": width, "height": 900})
            assert not (found := window.overflow()), (name, width, found)
            for scheme in ("light", "dark"):
                window.page.emulate_media(color_scheme=scheme)
                assert not (found := window.violations()), (name, width, scheme, found)
                window.keep(f"{name}-{width}-{scheme}")
        assert not window.unseen_pictures(), name
        first = {each for each in asked if not each.endswith(("/counts", "/icon.svg"))}
        assert len(first) <= FIRST_VIEW + MORE.get(name, 0), (name, first)
