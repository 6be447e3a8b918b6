"""What every endpoint works with: one object a process, injected, so that tests replace the clock or the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from sordino_server.config import Settings
from sordino_server.kit.clock import Clock
from sordino_server.kit.db import Database


@dataclass(frozen=True)
class Context:
    """Settings, database and clock of this process."""

    settings: Settings
    database: Database
    clock: Clock


def context_of(request: Request) -> Context:
    """The context of the application that took the request."""
    context: Context = request.app.state.context
    return context


Injected = Annotated[Context, Depends(context_of)]
