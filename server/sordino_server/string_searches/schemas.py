"""Bodies of searches for strings."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.documents.string_queries import MAX_BEAM
from sordino_server.models import StringSearch


class SearchOrder(BaseModel):
    """A search with more paths than the estimate followed."""

    model_config = ConfigDict(extra="forbid", strict=True)

    beam: int = Field(ge=2, le=MAX_BEAM, description="Paths that each level keeps.")


class SearchState(StrEnum):
    """A search is queued, runs, and is done or failed."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


UNFINISHED = (SearchState.QUEUED, SearchState.RUNNING)


class SearchSummary(BaseModel):
    """A search without its paths."""

    beam: int
    state: SearchState
    progress: float
    error: str | None

    @classmethod
    def of(cls, row: StringSearch, now: int, *, done: bool) -> Self:
        """The row, whose content need not be read."""
        return cls(beam=row.beam, state=_state(row, now, done=done), progress=row.progress, error=row.error)


class SearchList(BaseModel):
    """The searches of a campaign by their beams."""

    beam: int = Field(description="That of the estimate: searches have more.")
    purged: bool = Field(description="Whether the reports are gone, so that no other search begins.")
    searches: list[SearchSummary]


class FoundPath(BaseModel):
    """A path: `kind` is "string", "begins with" or "no text"."""

    kind: str
    label: str
    log_odds: float = Field(description="Of the sought share against none, by the levels alone: no probability.")


class SearchDocument(BaseModel):
    """A search, and its paths once it is done: likely candidates, without shares, of which none is certified."""

    beam: int
    state: SearchState
    progress: float
    error: str | None
    users: int | None = Field(description="Reports that were searched.")
    paths: list[FoundPath] | None = Field(description="Likeliest first.")

    @classmethod
    def of(cls, row: StringSearch, now: int, limit: int | None = None) -> Self:
        """The document of a row, with at most so many paths."""
        found = {"users": None, "paths": None} if row.content is None else json.loads(row.content)
        if found["paths"] is not None:
            found["paths"] = found["paths"][:limit]
        state = _state(row, now, done=row.content is not None)
        return cls(beam=row.beam, state=state, progress=row.progress, error=row.error, **found)


def _state(row: StringSearch, now: int, *, done: bool) -> SearchState:
    if done:
        return SearchState.DONE
    if row.error is not None:
        return SearchState.FAILED
    held = row.lease_until is not None and row.lease_until > now
    return SearchState.RUNNING if held else SearchState.QUEUED
