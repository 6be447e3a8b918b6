"""/console/questions: what is known, with its error, and what needs somebody; /console/words: what the words mean"""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.campaign_filter import CampaignFilter, CampaignSort
from sordino_server.campaigns.status import statuses_of
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, page
from sordino_server.console.question_tiles import DrawnTile, QuestionTile, tile_of
from sordino_server.console.words import WORDS
from sordino_server.context import Injected
from sordino_server.kit.page_parameters import PageQuery
from sordino_shared.protocol import CampaignState

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_COLUMNS = ("id", "name", "state", "number", "error", "says", "devices", "wanted", "changed_at")
_SHOWN = {
    "all": None,
    "answered": CampaignState.CLOSED,
    "collecting": CampaignState.OPEN,
    "drafts": CampaignState.READY,
    "cancelled": CampaignState.CANCELLED,
}
# What needs somebody is named; more than a few names are a list to be looked through anyway.
_MOST_NAMED = 3


class QuestionList(BaseModel):
    """A page of questions, newest first."""

    questions: list[QuestionTile]
    next_page_token: str | None


class Word(BaseModel):
    """A word of the console."""

    word: str
    meaning: str


class WordList(BaseModel):
    """All words."""

    words: list[Word]


@page(router, "/questions", "questions.html", _COLUMNS)
def list_questions(
    _: Analyst,
    context: Injected,
    requested: PageQuery,
    show: Literal["all", "answered", "collecting", "drafts", "cancelled"] = "all",
) -> ConsolePage:
    """Questions with their headlines, newest first, and how many there are in each state."""
    with context.database.read("console questions") as session:
        chosen = CampaignFilter(state=_SHOWN[show], archived=False)
        rows, token = campaigns.listed(session, requested, chosen, CampaignSort.NEWEST)
        statuses = statuses_of(session, rows, context.clock.now())
        counts = campaigns.counts_by_state(session)
    drawn = [tile_of(row, status) for row, status in zip(rows, statuses, strict=True)]
    numbers = [
        (name, sum(counts.values()) if state is None else counts.get(state, 0)) for name, state in _SHOWN.items()
    ]
    tiles = [each.tile for each in drawn]
    return ConsolePage(
        title="What we know",
        document=QuestionList(questions=tiles, next_page_token=token),
        rows=tiles,
        values={"drawn": drawn, "show": show, "counts": numbers, "needy": _needy(drawn)[:_MOST_NAMED]},
    )


def _needy(drawn: list[DrawnTile]) -> list[DrawnTile]:
    """Those that closed with too few devices, or of which no answer can be had."""
    return [each for each in drawn if each.tile.look == "look" or each.tile.state == "Has no answer"]


@page(router, "/words", "words.html", ("word", "meaning"))
def list_words(_: Analyst) -> ConsolePage:
    """What the words of these pages mean."""
    words = [Word(word=word, meaning=meaning) for word, meaning in WORDS.items()]
    return ConsolePage(title="What the words mean", document=WordList(words=words), rows=words)
