"""Keys that may sign in, as one process last read them: what an invented id is refused by, without a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
