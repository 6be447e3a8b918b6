"""Two results in one picture, at a desk and on a phone, and a picture that is saved as PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.server.answers.test_answers_on_demand_api import closed
from tests.server.answers.test_comparisons_api import DELAY, identifier, order
from tests.server.console.browser.conftest import Window
from tests.server.console.browser.test_every_page import look_at

# The first bytes of every PNG.
PNG = b"\x89PNG\r\n\x1a\n"


def test_two_curves_and_their_differences_are_seen_and_saved(window: Window, running: Any, tmp_path: Path) -> None:
    may, june = (
        identifier(closed(running, cells, **order(running, name, 4, DELAY)))
        for name, cells in (("may", [2] * 900 + [6] * 300), ("june", [1] * 300 + [2] * 600 + [4] * 300))
    )
    look_at(window, f"/console/compare?left={may}&right={june}", "compared-curves")
    page = window.page
    assert page.locator("svg.chart.phone").is_visible()
    assert not page.locator("svg.chart.wide").is_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="As PNG").first.click()
    assert saved.value.suggested_filename == "compare.png"
    saved.value.save_as(tmp_path / "compare.png")
    content = (tmp_path / "compare.png").read_bytes()
    assert content.startswith(PNG)
    # As wide as the picture twice, from the head of the file.
    assert int.from_bytes(content[16:20], "big") > 1000
