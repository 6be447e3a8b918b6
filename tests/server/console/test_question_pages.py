"""The front page and a result say what is found with its error: names and no hashes, small pages, few statements."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest

from sordino_analysis.answers.banded import BandedAnswer
from sordino_server.console.inline_pictures import PAGE, PHONE, TILE, bars, curve
from sordino_server.console.words import WORDS
from sordino_server.models import Role

MOST_BYTES = 60_000
_OWN = re.compile(r"[0-9a-f]{12,}")


def seen(page: str) -> str:
    """The text of a page, without what is folded under "Details for analysts" and below."""
    main = page[page.index("<main") : page.index("</main>")]
    return unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<details>.*?</details>", "", main, flags=re.S)))


def answered(running: Any, name: str, cells: list[int], **terms: Any) -> str:
    """The id of a closed campaign with an estimate."""
    campaign = running.campaign("open", name=name, **terms)
    running.report(campaign, cells).raise_for_status()
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    return str(campaign["id"])


def test_questions_have_tiles_with_their_findings(running: Any, browsers: Any) -> None:
    told = answered(running, "late <b>trains</b>", [0] * 600 + [1] * 300 + [3] * 100)
    few = answered(running, "late boats", [0] * 9 + [1] * 8)
    running.campaign("open", name="late planes")
    running.campaign(name="late buses")
    browser = browsers.of(Role.ANALYST)
    page = browser.page("/console/questions")
    text = seen(page)
    assert "late <b>trains</b>" in text
    assert "<b>trains" not in page
    assert not _OWN.search(text)
    assert len(page.encode()) <= MOST_BYTES
    tiles = {each["name"]: each for each in json.loads(browser.page("/console/questions.json"))["questions"]}
    finding = running.api.get(f"/v1/campaigns/{told}/finding").json()
    shown = tiles["late <b>trains</b>"]
    assert finding["headline"] == f"{shown['says']}: {shown['number']} {shown['error']}"
    states = {name: each["state"] for name, each in tiles.items()}
    assert states == {
        "late <b>trains</b>": "Answered",
        "late boats": "Too few to tell",
        "late planes": "Collecting",
        "late buses": "Draft",
    }
    # What needs somebody is said above the tiles, with what would help.
    more = running.api.get(f"/v1/campaigns/{few}/finding").json()["more"]
    needed = f"closed with 17 devices. About {more:,} more devices would make every band ± 3 %"
    assert needed in re.sub(r"\s+", " ", text)
    assert "late planes" not in browser.page("/console/questions?show=drafts")
    assert "No question is cancelled" in browser.page("/console/questions?show=cancelled")
    browser.page("/console/questions?show=unknown", 422)


def test_a_result_says_first_what_is_found(running: Any, browsers: Any) -> None:
    campaign = answered(running, "late trains", [0] * 600 + [1] * 300 + [3] * 100)
    browser = browsers.of(Role.ANALYST)
    page = browser.page(f"/console/campaigns/{campaign}/estimate")
    text = re.sub(r"\s+", " ", seen(page))
    sentences = running.api.get(f"/v1/campaigns/{campaign}/finding").json()["sentences"]
    places = [text.index(each) for each in sentences]
    assert places == sorted(places)
    assert places[0] < text.index("How sure is this?")
    assert not _OWN.search(text.partition("Take it with you")[0])
    # Curves for a desk and for a phone, which take the colours of the page.
    assert page.count('role="img"') == 2
    assert "<img" not in page
    assert len(page.encode()) <= MOST_BYTES


def test_a_server_without_questions_says_how_to_begin(browsers: Any) -> None:
    browser = browsers.of(Role.ANALYST)
    page = browser.page("/console/questions")
    assert "Nothing yet. What would you like to know?" in page
    assert 'href="/console/new"' in page
    for word, meaning in WORDS.items():
        assert word in (words := browser.page("/console/words"))
        assert meaning in unescape(words)


@pytest.mark.parametrize("high", [0.003, 0.02, 0.4, 1.0])
def test_bars_end_below_a_round_number(high: float) -> None:
    parts = [(str(part), high * part / 5, high * part / 4) for part in range(5)]
    shares = [BandedAnswer(label=label, value=best, low=0.0, high=end, unit="share") for label, best, end in parts]
    drawn = bars(shares)
    assert [row.label for row in drawn.rows] == ["4", "3", "2", "1", "0"]
    assert drawn.ticks[0] == (0.0, "0 %")
    assert 990 <= drawn.ticks[-1][0] <= 1000
    for row in drawn.rows:
        assert row.low >= 0
        assert row.low + row.width <= 1004
        assert row.low <= row.value + 4
        assert row.value <= row.low + row.width


@pytest.mark.parametrize("frame", [PAGE, PHONE, TILE])
@pytest.mark.parametrize("ends", [[0.2, 1.0, 12.0], [-5.0, 0.0, 15.0], [1.0, 2.0, 3.0]])
def test_a_curve_lies_in_what_is_possible(frame: Any, ends: list[float]) -> None:
    steps = [(end, share, share - 0.05, share + 0.05) for end, share in zip(ends, (0.2, 0.6, 0.9), strict=True)]
    drawn = curve(steps, frame, "s", told=1)
    assert drawn.is_ratio == (ends == [0.2, 1.0, 12.0])
    height = frame.bottom - frame.top
    corners = [tuple(map(float, each.split(","))) for each in drawn.between.split()]
    # Above the first gap the high end of the second step, below it the low end of the first one.
    assert abs(corners[0][1] - (frame.bottom - 0.65 * height)) < 0.11
    assert abs(corners[-1][1] - (frame.bottom - 0.15 * height)) < 0.11
    assert all(frame.left <= x <= frame.right for x, _ in (*corners, *drawn.dots))
    assert drawn.told is not None
    assert drawn.told[2] == "60 %"
    assert all(frame.left <= x <= frame.right for x, _ in drawn.across)
