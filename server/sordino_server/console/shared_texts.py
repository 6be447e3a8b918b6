"""Texts that many ask for at the same time, made at most once in a while and shared."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic

LIVE_S = 1.0
_MOST = 256


@dataclass
class _Shared:
    lock: Lock = field(default_factory=Lock)
    until: float = float("-inf")
    text: str = ""


class SharedTexts:
    """Texts by key, each made again after `seconds`; of more than `most` the one unused for longest is forgotten."""

    def __init__(self, seconds: float = LIVE_S, *, most: int = _MOST, tick: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._most = most
        self._tick = tick
        self._lock = Lock()
        self._texts: OrderedDict[str, _Shared] = OrderedDict()

    def get(self, key: str, make: Callable[[], str]) -> str:
        """The text of `key`: one thread makes it while the others wait; what raises is not kept."""
        with self._lock:
            shared = self._texts.setdefault(key, _Shared())
            self._texts.move_to_end(key)
            if len(self._texts) > self._most:
                self._texts.popitem(last=False)
        with shared.lock:
            if self._tick() >= shared.until:
                shared.text = make()
                shared.until = self._tick() + self._seconds
            return shared.text
