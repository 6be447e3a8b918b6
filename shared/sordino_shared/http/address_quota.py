"""Quotas of tokens by network address, in memory alone: for servers, and for shufflers in front of them."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

_DAY_S = 86_400
# About 30 MB. With more addresses than this in a day one gets more tokens, one by one.
MOST_ADDRESSES = 100_000


class AddressQuota:
    """Tokens of this process by campaign, address and day (UTC). What is asked for again counts once."""

    def __init__(self, most: int = MOST_ADDRESSES) -> None:
        self._most = most
        self._day = -1
        self._asked: OrderedDict[tuple[str, str], set[bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, campaign: str, address: str, per_day: int, blinded: bytes, now: int) -> int | None:
        """Count a token for the address: None, or the seconds until it may ask for another where it has all."""
        name, key = hashlib.sha256(blinded).digest()[:16], (campaign, address)
        with self._lock:
            if now // _DAY_S != self._day:
                self._day = now // _DAY_S
                self._asked.clear()
            asked = self._asked.setdefault(key, set())
            self._asked.move_to_end(key)
            if len(self._asked) > self._most:
                self._asked.popitem(last=False)
            if name not in asked and len(asked) >= per_day:
                return _DAY_S - now % _DAY_S
            asked.add(name)
            return None
