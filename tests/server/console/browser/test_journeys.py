"""Each job of a product manager takes three clicks at most from the first page, and no script but for the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sordino_server.models import Role
from tests.server.answers.test_comparisons_api import two
from tests.server.console.browser.conftest import Window
from tests.server.console.test_question_pages import answered

WIDTHS = (320, 390, 768, 1440)


class Hand:
    """Clicks from the first page on, and counts."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.clicks = 0
        window.open("/console/questions")

    def click(self, role: Any, name: str) -> None:
        """The first one of this role and name."""
        self.window.page.get_by_role(role, name=name).first.click()
        self.clicks += 1

    def sees(self, text: str) -> None:
        self.window.page.get_by_text(text).first.wait_for()


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def visited(request: pytest.FixtureRequest, chromium: Any, running: Any) -> Iterator[Window]:
    """A window of an analyst."""
    context = chromium.new_context(java_script_enabled=request.param)
    made = Window(running.address, context.new_page())
    made.sign_in(running.key(Role.ANALYST))
    yield made
    context.close()
    assert not made.faults


def test_every_job_takes_three_clicks_at_most(visited: Window, running: Any) -> None:
    two(running)
    running.campaign(name="late buses")
    sentence = next(
        each["headline"] for each in running.api.get("/v1/campaigns").json()["campaigns"] if each["name"] == "june"
    )
    read = Hand(visited)
    read.click("link", "june")
    read.sees(sentence)
    assert read.clicks == 1

    share = Hand(visited)
    share.click("link", "june")
    share.click("button", "Share")
    share.click("button", "Make the link")
    share.sees("Anyone who has this address may read the result")
    assert share.clicks == 3
    path = visited.page.locator("pre code").inner_text()
    assert sentence in running.anonymous.get(path).text

    # The campaign before is chosen already.
    compare = Hand(visited)
    compare.click("link", "june")
    compare.click("link", "Compare")
    compare.sees("june − may")
    assert compare.clicks == 2

    opening = Hand(visited)
    opening.click("link", "late buses")
    opening.sees("We ask how late you were.")
    opening.click("button", "Open")
    opening.sees("late buses")
    assert opening.clicks == 2
    status = running.api.get("/v1/campaigns").json()["campaigns"]
    assert {each["state"] for each in status if each["name"] == "late buses"} == {"open"}


@pytest.mark.slow
def test_what_is_known_fits_every_width(window: Window, running: Any) -> None:
    may, june = two(running)
    few = answered(running, "late boats", [0] * 9 + [1] * 8)
    shared = running.api.post(f"/v1/campaigns/{may}/share-links", json={"until": None}).json()["path"]
    pages = {
        "questions": "/console/questions",
        "result-bars": f"/console/campaigns/{may}/estimate",
        "result-few": f"/console/campaigns/{few}/estimate",
        "shared": shared,
        "activity": "/console/activity",
        "compare": f"/console/compare?left={may}&right={june}",
    }
    window.open("/console/questions")
    window.page.get_by_role("button", name="Menu of").click()
    window.keep("menu-1440-light")
    for name, path in pages.items():
        window.open(path)
        for width in WIDTHS:
            window.page.set_viewport_size({"width": width, "height": 900})
            for scheme in ("light", "dark"):
                window.page.emulate_media(color_scheme=scheme)
                assert not (found := window.violations()), (name, width, scheme, found)
                window.keep(f"{name}-{width}-{scheme}")
            assert not (found := window.overflow()), (name, width, found)
