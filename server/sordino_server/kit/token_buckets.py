"""A bounded table of token buckets: at most `rate` takings a second for each key, and `burst` at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

# About 25 MB. A bucket per address does not stop a sender with more addresses than this.
MAX_KEYS = 100_000


class TokenBuckets:
    """Buckets by key; of more than `most` keys the one unused for longest is forgotten, and so full again."""

    def __init__(self, rate: float, burst: int, *, most: int = MAX_KEYS, tick: Callable[[], float] = monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        self._tick = tick
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key: str) -> float:
        """Take a token of `key`'s: 0 where there is one, else the seconds until there is."""
        now = self._tick()
        level, then = self._buckets.get(key, (float(self._burst), now))
        level = min(self._burst, level + self._rate * (now - then))
        wait = 0.0 if level >= 1 else (1 - level) / self._rate
        self._buckets[key] = (level if wait else level - 1, now)
        self._buckets.move_to_end(key)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return wait
