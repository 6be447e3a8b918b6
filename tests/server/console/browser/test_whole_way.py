"""From the sign-in through a campaign whose devices report to the chart, and to a CSV that is the API's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sordino_analysis.figures import SHARE, amount
from sordino_client import Caps, Client, PureEpsilon
from sordino_server.console.shared_texts import SharedTexts
from tests.server.console.browser.conftest import Window

CAPS = Caps(per_period=PureEpsilon.of(1), period_days=30, lifetime=PureEpsilon.of(1))
DELAYS = [-5.0, 3.0, 20.0, 90.0]


def test_from_sign_in_to_the_csv(window: Window, running: Any, tmp_path: Path) -> None:
    campaign = running.campaign("open")["id"]
    running.app.state.live_counts = SharedTexts(0.1)
    page = window.page
    window.open("/console/campaigns")
    page.get_by_role("link", name="delays").click()
    assert page.get_by_text("We ask how late you were.").is_visible()
    assert _counted(window) == 0
    for number, delay in enumerate(DELAYS):
        ledger = tmp_path / f"device-{number}.sqlite3"
        with Client(running.address, ledger=ledger, caps=CAPS, allow_http=True) as device:
            device.answer(device.join(campaign), delay)
            assert device.flush().delivered == 1
    running.report({"id": campaign}, [0] * 60 + [1] * 40)
    # The counts come without a reload.
    page.locator("#counts dd").first.filter(has_text=re.compile("^104")).wait_for()
    running.api.post(f"/v1/campaigns/{campaign}/close").raise_for_status()
    running.work()
    page.reload()
    page.get_by_role("link", name="See the answer").click()
    page.get_by_role("heading", name="How sure is this?").wait_for()
    _check_estimate(window, running, campaign)


def _counted(window: Window) -> int:
    return int(window.page.locator("#counts dd").first.inner_text().split()[0].replace(",", ""))


def _check_estimate(window: Window, running: Any, campaign: str) -> None:
    """The chart loads with its texts, and the table and the CSV have the numbers of the API."""
    page = window.page
    assert page.get_by_text(running.api.get(f"/v1/campaigns/{campaign}/finding").json()["headline"]).first.is_visible()
    assert page.locator("svg.chart.wide").bounding_box()["width"] > 300
    page.get_by_text("The numbers").click()
    estimate = running.api.get(f"/v1/campaigns/{campaign}/estimates").json()
    assert estimate["terms"]["users"] == 100 + len(DELAYS)
    cells = page.locator("table tbody tr").first.locator("td").all_inner_texts()
    assert cells[0] == amount(estimate["table"]["best"][0], SHARE, estimate["table"]["standard_error"][0])
    with page.expect_download() as downloading:
        # A link to a CSV that the browser would show is downloaded as a person does with "save as".
        page.evaluate("document.querySelector('a[href$=\"estimate.csv\"]').download = 'estimate.csv'")
        page.get_by_role("link", name="CSV").first.click()
    saved = Path(downloading.value.path()).read_bytes()
    assert saved == running.api.get(f"/v1/campaigns/{campaign}/estimates?format=csv").content
    drawn = page.request.get(f"{window.address}/console/campaigns/{campaign}/estimate.svg").text()
    assert re.search(r"<title>delays</title><desc>.*3 answers", drawn)


def test_a_session_that_ends_leads_to_the_sign_in(window: Window, running: Any) -> None:
    campaign = running.campaign("open")["id"]
    window.open(f"/console/campaigns/{campaign}")
    page = window.page
    page.get_by_role("button", name="Menu of").click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()
    page.go_back()
    page.reload()
    page.get_by_role("heading", name="Sign in").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_follows_the_ground_of_the_page(window: Window, running: Any, scheme: Any) -> None:
    """A picture has the colours of the page that shows it."""
    plan = running.ready_plan()["id"]
    window.page.emulate_media(color_scheme=scheme)
    window.open(f"/console/plans/{plan}")
    window.page.wait_for_function("[...document.images].every(image => image.complete)")
    corner = """async () => {
        const image = document.querySelector('img.chart')
        const canvas = Object.assign(document.createElement('canvas'), {width: 8, height: 8})
        const pen = canvas.getContext('2d')
        pen.drawImage(image, 0, 0, 960, 480)
        return [...pen.getImageData(2, 2, 1, 1).data].slice(0, 3)
    }"""
    brightness = sum(window.page.evaluate(corner)) / 3
    assert (brightness < 60) == (scheme == "dark"), brightness
