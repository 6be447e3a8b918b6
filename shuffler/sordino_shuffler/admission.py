"""How often an address may send reports. Addresses are in memory alone, and forgotten with the process."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from time import monotonic
from typing import Any

from sordino_shared.http.senders import TrustedProxies
from sordino_shared.protocol import Problem
from sordino_shuffler.problems import RequestRefused

# About 25 MB.
_MOST_SENDERS = 100_000


class AddressRates:
    """A token bucket for each address: `per_s` uploads a second and `burst` at once; 0 a second: no limit."""

    def __init__(self, per_s: int, burst: int, proxies: TrustedProxies) -> None:
        self._per_s = per_s
        self._burst = burst
        self._proxies = proxies
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admit(self, scope: Mapping[str, Any]) -> None:
        """Take one of the sender's; raises RequestRefused where the address has none left."""
        if not self._per_s:
            return
        wait = self._take(self._proxies.sender(scope), monotonic())
        if wait > 0:
            detail = "this address sends more requests than it may; try again later"
            raise RequestRefused(Problem.RATE_LIMITED, detail, math.ceil(wait))

    def _take(self, sender: str, now: float) -> float:
        level, then = self._buckets.get(sender, (float(self._burst), now))
        level = min(self._burst, level + self._per_s * (now - then))
        wait = 0.0 if level >= 1 else (1 - level) / self._per_s
        self._buckets[sender] = (level if wait else level - 1, now)
        self._buckets.move_to_end(sender)
        if len(self._buckets) > _MOST_SENDERS:
            self._buckets.popitem(last=False)
        return wait
