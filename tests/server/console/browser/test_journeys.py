"""Each job of a product manager takes three clicks at most from the first page, and no script but for the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from sordino_server.models import Role
from tests.server.answers.test_comparisons_api import two
from tests.server.console.browser.conftest import Window

# Clicks and key presses from the first page on; the design allows no more.
BUDGET = {
    "read": 1, "share": 3, "compare": 2, "open": 2, "who opened it": 1, "what owners read": 2, "price": 1,
    "devices for ± 2": 1, "what is left": 2,
}  # fmt: skip


class Hand:
    """Clicks from the first page on, and counts."""

    def __init__(self, window: Window, job: str) -> None:
        self.window = window
        self.job = job
        self.clicks = 0
        window.open("/console/questions")

    def click(self, role: Any, name: str) -> None:
        """The first one of this role and name."""
        self.window.page.get_by_role(role, name=name).first.click()
        self.clicks += 1

    def sees(self, text: str | re.Pattern[str]) -> None:
        """The text shows, after no more clicks than the job may take."""
        self.window.page.get_by_text(text).first.wait_for()
        assert self.clicks <= BUDGET[self.job], self.job


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
    shown = {"name": "late boats", "purpose": "We ask sailors.", "population": "sailors", "public": True}
    shown |= {"plan_request": running.ready_plan()["id"]}
    public = running.api.post("/v1/campaigns", json=shown).raise_for_status().json()["id"]
    running.api.post(f"/v1/campaigns/{public}/open").raise_for_status()
    sentence = next(
        each["headline"] for each in running.api.get("/v1/campaigns").json()["campaigns"] if each["name"] == "june"
    )
    read = Hand(visited, "read")
    read.click("link", "june")
    read.sees(sentence)

    share = Hand(visited, "share")
    share.click("link", "june")
    share.click("button", "Share")
    share.click("button", "Make the link")
    share.sees("Anyone who has this address may read the result")
    path = visited.page.locator("pre code").inner_text()
    assert sentence in running.anonymous.get(path).text

    # The campaign before is chosen already.
    compare = Hand(visited, "compare")
    compare.click("link", "june")
    compare.click("link", "Compare")
    compare.sees("june − may")

    opening = Hand(visited, "open")
    opening.click("link", "late buses")
    opening.sees("We ask how late you were.")
    opening.click("button", "Open")
    opening.sees("late buses")
    status = running.api.get("/v1/campaigns").json()["campaigns"]
    assert {each["state"] for each in status if each["name"] == "late buses"} == {"open"}

    who = Hand(visited, "who opened it")
    who.click("link", "late buses")
    who.sees("Opened by test")

    devices = Hand(visited, "devices for ± 2")
    devices.click("link", "late boats")
    devices.sees(re.compile(r"± 2.{0,3} takes \d"))

    budget = Hand(visited, "what is left")
    budget.click("link", "Budget")
    budget.click("link", "sailors")
    budget.sees("What it was spent on")

    owners = Hand(visited, "what owners read")
    owners.click("link", "late boats")
    owners.click("link", "What owners see")
    owners.sees("We ask sailors.")
