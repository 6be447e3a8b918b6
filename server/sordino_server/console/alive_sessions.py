"""Which sessions are alive, for what browsers ask every two seconds: one query a second answers for all of them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection
from time import monotonic

import anyio.to_thread

CHECKED_S = 1.0
# A browser that did not ask for so long is no longer looked up with the others.
_FORGOTTEN_S = 10.0
_MOST = 4096


class AliveSessions:
    """Sessions by the SHA-256 of their ids; `find` says which of some are alive, and is asked once in `seconds`.

    So what is read here may be read for a second after a sign-out or a revocation. For one event loop. Of more than
    `most` sessions the one unused for longest is forgotten.
    """

    def __init__(
        self,
        find: Callable[[Collection[str]], set[str]],
        seconds: float = CHECKED_S,
        *,
        most: int = _MOST,
        tick: Callable[[], float] = monotonic,
    ) -> None:
        self._find = find
        self._seconds = seconds
        self._most = most
        self._tick = tick
        self._asked: OrderedDict[str, float] = OrderedDict()
        self._alive: set[str] = set()
        self._checked: frozenset[str] = frozenset()
        self._until = float("-inf")
        self._finding: asyncio.Task[None] | None = None

    async def has(self, id_sha256: str) -> bool:
        """Whether the session was alive within the last second."""
        self._asked[id_sha256] = self._tick()
        self._asked.move_to_end(id_sha256)
        if len(self._asked) > self._most:
            self._asked.popitem(last=False)
        while id_sha256 not in self._checked or self._tick() >= self._until:
            if self._finding is None:
                self._finding = asyncio.create_task(self._check())
                await asyncio.shield(self._finding)
                break
            # It may have begun before this session asked.
            await asyncio.shield(self._finding)
        return id_sha256 in self._alive

    async def _check(self) -> None:
        try:
            oldest = self._tick() - _FORGOTTEN_S
            while self._asked and next(iter(self._asked.values())) < oldest:
                self._asked.popitem(last=False)
            wanted = frozenset(self._asked)
            self._alive = await anyio.to_thread.run_sync(self._find, wanted)
            self._checked, self._until = wanted, self._tick() + self._seconds
        finally:
            self._finding = None
