"""Tiles as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from sordino_analysis.answers.headline import Headline

# A tick, a dot, a triangle, a cross and a pencil: what a tile shows beside its state.
Look = Literal["done", "live", "look", "stop", "draft"]
Show = Literal["all", "answered", "collecting", "drafts", "cancelled"]


class QuestionTile(BaseModel):
    """A question in a list: its state, one number with its error, and one sentence."""

    id: str = Field(description="Id of the campaign.")
    name: str
    look: Look
    state: str = Field(description="In words, such as `Answered`, `Too few to tell` or `Collecting`.")
    number: str = Field(description="Such as `56.4 %`; of an open one how many devices answered; else empty.")
    error: str = Field(description="What stands after the number, such as `± 1.1`; empty where nothing does.")
    says: str = Field(description="A sentence; without an answer: the expected error, or why there is none.")
    devices: int = Field(description="Devices that answered; of a series in the periods that a list shows.")
    wanted: int | None = Field(description="Devices after which it closes, or that its plan was made for.")
    changed_at: int | None = Field(description="When it was created, opened or closed, whichever was last.")
    path: str = Field(description="The page of the console that a tile leads to.")
    headline: Headline | None = Field(description="The stored sentences and the small picture; null without an answer.")


class QuestionList(BaseModel):
    """A page of questions, newest first; archived ones are in no list."""

    questions: list[QuestionTile]
    counts: dict[Show, int] = Field(description="How many questions each `show` has.")
    next_page_token: str | None
