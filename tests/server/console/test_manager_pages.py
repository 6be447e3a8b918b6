"""Opening, running and budget: what is learnt, what it costs and when it ends, in words; names, and no result early."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

import pytest

from sordino_server.campaigns.progress import CampaignProgress
from sordino_server.console.inline_lines import plus_minus
from sordino_server.console.refusal_words import REASONS, refused_sentence
from sordino_server.console.words import INSTEAD_OF
from sordino_server.models import Role
from sordino_server.populations.names import identifier_of
from sordino_shared.protocol import Refusal
from tests.server.console.test_question_pages import MOST_BYTES, seen
from tests.server.experiments.test_experiments import order_of

_HASH = re.compile(r"[0-9a-f]{12,}")
_OLD = re.compile(rf"\b(?:{'|'.join(map(re.escape, INSTEAD_OF))})s?\b", re.IGNORECASE)
BUDGET = f"/console/populations/{identifier_of('travellers')}"
DAY_S = 86_400


@dataclass
class Asked:
    """Drafts of a question, a series and an experiment; questions that collect, were cancelled, wait for an answer."""

    draft: str
    live: str
    cancelled: str
    waiting: str
    series: str
    experiment: str


@pytest.fixture
def asked(running: Any) -> Asked:
    """Of a population with limits; 60 devices answered within half an hour, 40 of them wrongly."""
    caps = {"name": "travellers", "epsilon_per_period": 4, "period_days": 30, "epsilon_lifetime": 24}
    running.api.post("/v1/populations", json=caps).raise_for_status()
    terms = {"purpose": "We ask how late you were.", "population": "travellers"}
    terms["plan_request"] = running.ready_plan(users=10_000)["id"]
    experiment = running.api.post("/v1/campaigns", json=order_of(running)).raise_for_status().json()["id"]
    closing = {"close_after_reports": 10_000, "close_after_s": 30 * DAY_S}

    def made(name: str, *actions: str, **more: Any) -> dict[str, Any]:
        campaign: dict[str, Any] = running.api.post("/v1/campaigns", json=terms | {"name": name} | more).json()
        for action in actions:
            running.api.post(f"/v1/campaigns/{campaign['id']}/{action}").raise_for_status()
        return campaign

    live = made("late trains", "open", **closing)
    running.report(live, [0, 1, 2] * 20).raise_for_status()
    running.clock.advance(1800)
    texts = [{"language": "de", "purpose": "Wir fragen.", "contact": None, "link": None}]
    return Asked(
        draft=made("late buses", **closing, texts=texts)["id"],
        live=live["id"],
        cancelled=made("late planes", "open", "cancel")["id"],
        waiting=made("late boats", "open", "close")["id"],
        series=made("late taxis", series={"slots": 30, "answers_max": 3})["id"],
        experiment=experiment,
    )


def words(page: str) -> str:
    """What a page shows outside details and tooltips, with single blanks."""
    without = re.sub(r'<span id="term-.*?</span>', "", page, flags=re.S)
    return re.sub(r"\s+", " ", seen(without))


def test_the_pages_of_a_question_say_no_old_word_and_no_hash(running: Any, browsers: Any, asked: Asked) -> None:
    browser = browsers.of(Role.ANALYST)
    base = "/console/campaigns"
    paths = [f"{base}/{each}" for each in vars(asked).values()]
    paths += [f"{base}/{asked.draft}/actions/open", f"{base}/{asked.series}/actions/open"]
    paths += [f"{base}/{asked.live}/actions/{each}" for each in ("close", "cancel")]
    paths += [f"{base}/{asked.experiment}/actions/open", f"/console/experiments/{asked.experiment}"]
    paths.append("/console/experiments")
    for path in (*paths, BUDGET, "/console/populations"):
        page = browser.page(path)
        text = words(page)
        assert not _OLD.search(text), (path, _OLD.search(text))
        assert not _HASH.search(text), path
        assert len(page.encode()) <= MOST_BYTES
        # At most one button is filled; where something is decided, exactly one, unless it destroys.
        filled = len(re.findall(r'class="button main"', page))
        drafts = [f"{base}/{each}" for each in (asked.draft, asked.series, asked.experiment)]
        assert filled == (1 if path.endswith(("/open", "/close")) or path in drafts else 0), path
        assert page.count("/console/static/") <= 4


def test_a_question_is_opened_by_a_page_with_its_words_error_and_price(
    running: Any, browsers: Any, asked: Asked
) -> None:
    page = browsers.of(Role.ANALYST).page(f"/console/campaigns/{asked.draft}/actions/open")
    text = words(page)
    progress = running.api.get(f"/v1/campaigns/{asked.draft}/progress").json()
    assert "Ask 10,000 devices of “travellers”?" in text
    assert "We ask how late you were." in text
    assert f"You learn ± {100 * progress['band_wanted']:.0f} all 3 answers at once, at most, with 10,000" in text
    # Three that opened before, at ε 1 each.
    assert "Each device spends ε 1 once; leaves ε 0 of 4 in 30 days" in text
    assert "Limit for life, ε 24: 3 spent · 1 for this question · 20 left" in text
    assert page.count('role="img"') == 2
    assert "Ends after 30 days or with 10,000 devices" in text
    assert "true 73 times in 100: it changes the odds of what the owner holds by a factor of 2.7 at most." in text
    needed = next(each["devices"] for each in progress["devices_for"] if each["margin"] == 0.02)
    assert f"± 2 takes {needed:,} devices" in text
    assert '<blockquote lang="de">Wir fragen.</blockquote>' in page
    series = words(browsers.of(Role.ANALYST).page(f"/console/campaigns/{asked.series}/actions/open"))
    assert "ε 1 each answer, up to 3 answers: ε 3 in all" in series
    assert "Ends when you close it each period of 1 day by itself" in series


def test_a_question_that_collects_shows_its_error_and_no_result(running: Any, browsers: Any, asked: Asked) -> None:
    browser = browsers.of(Role.ANALYST)
    page = browser.page(f"/console/campaigns/{asked.live}")
    text = words(page)
    assert "Collecting since 15 Jan 2027" in text
    assert "Answered 60 of 10,000 wanted" in text
    # 9,940 more at 60 in half an hour.
    assert "At this rate about 3 days on 18 Jan, 19:20 UTC" in text
    progress = CampaignProgress.model_validate(running.api.get(f"/v1/campaigns/{asked.live}/progress").json())
    now, then = (plus_minus(each or 0.0, progress) for each in (progress.band_now, progress.band_wanted))
    assert f"If it closed now {now} {then} at the end" in text
    assert "No report was refused." in text
    assert "Opened by test" in text
    assert "so that nobody stops at a result that pleases" in text
    # Reports over time, for a page and for a phone, and the curve of the error.
    assert page.count('role="img"') == 3
    # No share of anything is told.
    assert not re.search(r"\d %", text), text
    draft = words(browser.page(f"/console/campaigns/{asked.draft}"))
    assert "Nobody has been asked yet." in draft
    assert "Expected error" in draft
    assert "Being computed" in words(browser.page(f"/console/campaigns/{asked.waiting}"))
    cancelled = words(browser.page(f"/console/campaigns/{asked.cancelled}"))
    assert "This question was cancelled: nothing is told of it" in cancelled


def test_a_budget_says_what_is_left_and_when_there_is_more(running: Any, browsers: Any, asked: Asked) -> None:
    browser = browsers.of(Role.ANALYST)
    page = browser.page(BUDGET)
    text = words(page)
    assert "Left now ε 1 ε 1 of 4 in any 30 days Left for life ε 21 of 24 Room again 14 Feb 2027 then ε 2" in text
    assert "Privacy spent in 30 days" in text
    assert f'<a href="/console/campaigns/{asked.live}">late trains</a>' in page
    assert "until 14 Feb 2027" in text
    assert "One question at ε 1, or two at ε 0.5, or four at ε 0.25." in text
    assert "A question every week at ε 1 fits if each device answers once in 6 weeks, at most 21 times." in text
    assert page.count('role="img"') == 2
    running.clock.advance(40 * DAY_S)
    later = words(browsers.of(Role.ANALYST).page(BUDGET))
    assert "Left now ε 4" in later
    assert "for life only" in later


@pytest.mark.parametrize(
    ("refusals", "said"),
    [
        ({}, "No report was refused."),
        ({"round-full": 1}, "1 of 101 reports was refused, because as many as were wanted had come."),
        ({"wrong-epoch": 12}, "12 of 112 reports were refused, all because they are of another period."),
        (
            {"wrong-epoch": 2, "token-spent": 3, "new": 1},
            "6 of 106 reports were refused, 3 of them because their token was spent before.",
        ),
    ],
)
def test_refusals_are_one_sentence(refusals: dict[str, int], said: str) -> None:
    assert refused_sentence(refusals, 100) == said
    assert set(Refusal) <= set(REASONS)
    assert unescape(said) == said
