"""How many reports a second a campaign counts, from the counts that its page was made of in the last minute."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from threading import Lock
from time import monotonic

WITHIN_S = 60.0
_MOST = 256


class ReportRates:
    """Counts by campaign; of more than `most` campaigns the one unused for longest is forgotten."""

    def __init__(self, *, most: int = _MOST, tick: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._tick = tick
        self._lock = Lock()
        self._seen: OrderedDict[str, deque[tuple[float, int]]] = OrderedDict()

    def note(self, campaign: str, reports: int) -> float | None:
        """Reports a second since the first count of the last minute; None after the first."""
        now = self._tick()
        with self._lock:
            seen = self._seen.setdefault(campaign, deque())
            self._seen.move_to_end(campaign)
            if len(self._seen) > self._most:
                self._seen.popitem(last=False)
            while seen and seen[0][0] < now - WITHIN_S:
                seen.popleft()
            seen.append((now, reports))
            then, before = seen[0]
        return (reports - before) / (now - then) if now > then else None
