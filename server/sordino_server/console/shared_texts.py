"""Texts that many ask for at the same time, made at most once in a while and shared."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import anyio.to_thread

LIVE_S = 1.0
_MOST = 256


@dataclass
class _Shared:
    """A text until a moment, and the task that makes the next one."""

    until: float = float("-inf")
    text: bytes = b""
    making: asyncio.Task[bytes] | None = None


class SharedTexts:
    """Texts by key, each made again after `seconds`; of more than `most` the one unused for longest is forgotten.

    For one event loop.
    """

    def __init__(self, seconds: float = LIVE_S, *, most: int = _MOST, tick: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._most = most
        self._tick = tick
        self._texts: OrderedDict[str, _Shared] = OrderedDict()

    async def get(self, key: str, make: Callable[[], bytes]) -> bytes:
        """The text of `key`: one thread makes it while the others wait; what raises is not kept."""
        shared = self._texts.get(key)
        if shared is not None and self._tick() < shared.until:
            return shared.text
        if shared is None:
            shared = self._texts[key] = _Shared()
            if len(self._texts) > self._most:
                self._texts.popitem(last=False)
        self._texts.move_to_end(key)
        if shared.making is None:
            shared.making = asyncio.create_task(self._make(shared, make))
        # A browser that leaves must not end it for the others.
        return await asyncio.shield(shared.making)

    async def _make(self, shared: _Shared, make: Callable[[], bytes]) -> bytes:
        try:
            shared.text = await anyio.to_thread.run_sync(make)
            shared.until = self._tick() + self._seconds
            return shared.text
        finally:
            shared.making = None
