"""How often links were opened, in few writes: a flood of openings is one transaction a second."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

import anyio.to_thread

from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.logs import logger

log = logger(__name__)

EVERY_S = 1.0


class OpeningCounts:
    """Openings by the number of the link; `write` adds some to what is stored, once in `every` seconds at most.

    An opening after a quiet second is written at once, those that follow within a second together after it. For one
    event loop.
    """

    def __init__(self, write: Callable[[Mapping[int, int]], None], every: float = EVERY_S) -> None:
        self._write = write
        self._every = every
        self._waiting: Counter[int] = Counter()
        self._resting: asyncio.Task[None] | None = None

    async def note(self, link: int) -> None:
        """One more opening."""
        self._waiting[link] += 1
        if self._resting is None:
            self._resting = asyncio.create_task(self._rest())
            await self.flush()

    async def flush(self) -> None:
        """Write what waits; a database that takes nothing keeps nobody from reading a result."""
        waiting, self._waiting = self._waiting, Counter()
        if not waiting:
            return
        try:
            await anyio.to_thread.run_sync(self._write, waiting)
        except DatabaseError as error:
            self._waiting += waiting
            log.warning("openings of share links are not counted yet", problem=str(error))

    async def _rest(self) -> None:
        try:
            await asyncio.sleep(self._every)
            while self._waiting:
                await self.flush()
                await asyncio.sleep(self._every)
        finally:
            self._resting = None
