"""Two campaigns are chosen and compared, and an experiment is followed to its verdict, in a browser."""

from __future__ import annotations

import re
from typing import Any

from sordino_server.models import Role
from tests.server.answers.test_comparisons_api import two
from tests.server.console.browser.conftest import PHONE, Window
from tests.server.console.browser.test_every_page import look_at
from tests.server.experiments.test_experiments import DAY_S, Arms, order_of


def test_two_campaigns_are_chosen_from_the_page_of_one(window: Window, running: Any) -> None:
    may, june = two(running)
    page = window.page
    window.open(f"/console/campaigns/{june}")
    page.get_by_role("link", name="Compare with another question").click()
    page.get_by_role("heading", name="Compare two questions").wait_for()
    assert page.locator("select[name=left]").input_value() == june
    page.locator("select[name=left]").select_option(value=may)
    page.locator("select[name=right]").select_option(value=june)
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="Verdict").wait_for()
    table = running.api.get(f"/v1/comparisons?left={may}&right={june}").json()["table"]
    verdicts = [row.locator("td").all_inner_texts() for row in page.locator("table:not(.bars) tbody tr").all()]
    assert [set(cells) & {"higher", "lower", "undecided"} for cells in verdicts] == [
        {each} for each in table["verdict"]
    ]
    assert page.get_by_text("os: linux, wifi: no is lower: june − may").is_visible()
    assert page.locator("table.bars svg").count() == len(table["verdict"])
    # One query alone, which the form offers.
    page.get_by_text("Compare others, or one answer alone").click()
    page.get_by_label("One more").fill(table["label"][0])
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url(re.compile("query=os"))
    assert page.locator("table:not(.bars) tbody tr").count() == 1
    look_at(window, f"/console/compare?left={may}&right={june}", "compare")


def test_an_experiment_is_found_in_the_list_and_has_its_verdict(window: Window, running: Any) -> None:
    campaign = running.api.post("/v1/campaigns", json=order_of(running)).raise_for_status().json()["id"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    arms = Arms(running, campaign)
    for count, of_b in ((400, 30.0), (2000, -5.0)):
        arms.answer(count, 30.0, of_b)
        running.clock.advance(DAY_S)
        running.work()
    # The first session has ended since.
    window.sign_in(running.key(Role.ADMIN))
    page = window.page
    window.menu("Experiments")
    page.get_by_role("heading", name="Experiments").wait_for()
    page.get_by_role("link", name="faster-start").click()
    page.get_by_role("heading", name="Verdict").wait_for()
    assert page.get_by_text("B is higher, B − A is").is_visible()
    looks = page.get_by_role("region", name="Looks", exact=True).locator("tbody tr")
    assert [row.locator("td").last.inner_text() for row in looks.all()] == ["higher", "undecided"]
    look_at(window, f"/console/experiments/{campaign}", "experiment")
    look_at(window, "/console/experiments", "experiments-listed")
    window.page.set_viewport_size(PHONE)
    assert not window.overflow()
