"""Quotas of tokens by network address, in memory alone: for servers, and for shufflers in front of them."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

_DAY_S = 86_400
# About 40 MB. With more addresses than this in a day one gets more tokens, one by one.
MOST_ADDRESSES = 100_000
# About 20 MB. An address may have 10,000 tokens a day, so that addresses alone limit no memory.
MOST_TOKENS = 200_000


class AddressQuota:
    """Tokens of this process by campaign, address and day (UTC). What is asked for again counts once."""

    def __init__(self, most: int = MOST_ADDRESSES, most_tokens: int = MOST_TOKENS) -> None:
        self._most = most
        self._most_tokens = most_tokens
        self._day = -1
        self._tokens = 0
        self._asked: OrderedDict[tuple[str, str], set[bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, campaign: str, address: str, per_day: int, blinded: bytes, now: int) -> int | None:
        """Count a token for the address: None, or the seconds until it may ask for another where it has all."""
        name, key = hashlib.sha256(blinded).digest()[:16], (campaign, address)
        with self._lock:
            if now // _DAY_S != self._day:
                self._day, self._tokens = now // _DAY_S, 0
                self._asked.clear()
            asked = self._asked.setdefault(key, set())
            self._asked.move_to_end(key)
            if name not in asked:
                if len(asked) >= per_day:
                    return _DAY_S - now % _DAY_S
                asked.add(name)
                self._tokens += 1
            self._forget()
            return None

    def _forget(self) -> None:
        """Make room by forgetting whole addresses, those first that asked longest ago; never the last that asked."""
        while len(self._asked) > 1 and (len(self._asked) > self._most or self._tokens > self._most_tokens):
            _, forgotten = self._asked.popitem(last=False)
            self._tokens -= len(forgotten)
