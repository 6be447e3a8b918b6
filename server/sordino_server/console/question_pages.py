"""/console/questions: what is known, with its error, and what needs somebody; /console/words: what the words mean"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, page
from sordino_server.console.question_tiles import DrawnTile
from sordino_server.console.words import INSTEAD_OF, WORDS
from sordino_server.context import Injected
from sordino_server.kit.pagination import Page
from sordino_server.questions import service as questions
from sordino_server.questions.endpoints import ShowQuery, tiles_of

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_COLUMNS = ("id", "name", "state", "number", "error", "says", "devices", "wanted", "changed_at")
# As many as a page of 60 kB has room for, where each has a curve of 24 steps.
_Tiles = Annotated[Page, Depends(tiles_of(24))]
# What needs somebody is named; more than a few names are a list to be looked through anyway.
_MOST_NAMED = 3


class Word(BaseModel):
    """A word of the console."""

    word: str
    meaning: str


class WordList(BaseModel):
    """All words."""

    words: list[Word]


@page(router, "/questions", "questions.html", _COLUMNS)
def list_questions(_: Analyst, context: Injected, requested: _Tiles, show: ShowQuery = "all") -> ConsolePage:
    """Questions with their headlines, newest first, and how many there are in each state."""
    with context.database.read("console questions") as session:
        found = questions.listed(session, requested, show)
    drawn = [DrawnTile.of(tile) for tile in found.questions]
    return ConsolePage(
        title="What we know",
        document=found,
        rows=found.questions,
        values={"drawn": drawn, "show": show, "needy": _needy(drawn)[:_MOST_NAMED]},
    )


def _needy(drawn: list[DrawnTile]) -> list[DrawnTile]:
    """Those that closed with too few devices, or of which no answer can be had."""
    return [each for each in drawn if each.tile.look == "look" or each.tile.state == "Has no answer"]


@page(router, "/words", "words.html", ("word", "meaning"))
def list_words(_: Analyst) -> ConsolePage:
    """What the words of these pages mean."""
    words = [Word(word=word, meaning=meaning) for word, meaning in WORDS.items()]
    document = WordList(words=words)
    return ConsolePage(title="What the words mean", document=document, rows=words, values={"instead": INSTEAD_OF})
