"""Keys that may sign in and sessions that are alive, as one process last read them: most requests need no query."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from time import monotonic

import anyio.to_thread

_READ_AGAIN_S = 1.0


class KnownKeys:
    """The SHA-256 of secrets by the key's id; `find` returns them all, and is asked once a second at most.

    It is asked where an id is not known. So a key that another process signs in with is known here a second after it
    was created, and a revoked one stays: the database has the last word. For one event loop.
    """

    def __init__(self, find: Callable[[], Mapping[str, str]], *, tick: Callable[[], float] = monotonic) -> None:
        self._find = find
        self._tick = tick
        self._known: dict[str, str] = {}
        self._until = float("-inf")

    async def secret_sha256(self, identifier: str) -> str | None:
        """The hash of the secret of this key; None where no such key is known."""
        if identifier not in self._known and self._tick() >= self._until:
            # Before the read: who comes meanwhile causes no other.
            self._until = self._tick() + _READ_AGAIN_S
            self._known |= await anyio.to_thread.run_sync(self._find)
        return self._known.get(identifier)

    def add(self, identifier: str, secret_sha256: str) -> None:
        """Note a key that has just signed in."""
        self._known[identifier] = secret_sha256


CHECKED_S = 1.0
# A browser that did not ask for so long is no longer looked up with the others.
_FORGOTTEN_S = 10.0
_MOST_SESSIONS = 4096


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
        most: int = _MOST_SESSIONS,
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
