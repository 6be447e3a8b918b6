"""What every endpoint works with: one object a process, injected, so that tests replace the clock or the database."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

from fastapi import Depends, Request

from sordino_server.config import Settings
from sordino_server.kit.clock import ServerClock
from sordino_server.kit.db import Database
from sordino_server.kit.single_flight import SingleFlight
from sordino_server.work.work_queue import ANSWERS, CHECKS, WorkQueue


@dataclass(frozen=True, kw_only=True)
class Context:
    """Settings, database and clock of this process; `readiness` answers probes of the database, and
    `checks` does what may take long on what somebody sent, `answers` what analysts ask of closed campaigns.
    """

    settings: Settings
    database: Database
    clock: ServerClock
    readiness: SingleFlight[None] = field(default_factory=SingleFlight)
    checks: WorkQueue = field(default_factory=partial(WorkQueue, CHECKS))
    answers: WorkQueue = field(default_factory=partial(WorkQueue, ANSWERS))


async def context_of(request: Request) -> Context:
    """The context of the application that took the request."""
    # Async, though it waits for nothing: otherwise it would wait for a thread, and a database that hangs has them all.
    context: Context = request.app.state.context
    return context


Injected = Annotated[Context, Depends(context_of)]
