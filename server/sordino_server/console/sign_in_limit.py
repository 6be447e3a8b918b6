"""How often one may try to sign in: by address, and by address and key where the key's id is one of this server's.

So a stranger who shares an address with operators, behind one NAT, uses up the attempts with fake keys and none of
theirs. Ids are no secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic

from sordino_server.console.known_keys import KnownKeys
from sordino_server.kit.token_buckets import TokenBuckets

# A person mistypes a few times; a guess of 256 random bits never succeeds, and each costs a read of the database.
ATTEMPTS_PER_S = 0.1
ATTEMPTS_AT_ONCE = 10
_PREFIX = re.compile(r"sdo_(?:analyst|admin)_([0-9a-f]{16})_")


class SignInLimit:
    """Attempts of one process."""

    def __init__(self, known: KnownKeys, *, tick: Callable[[], float] = monotonic) -> None:
        self._known = known
        self._buckets = TokenBuckets(ATTEMPTS_PER_S, ATTEMPTS_AT_ONCE, tick=tick)

    async def take(self, sender: str, key: str) -> float:
        """Take an attempt of the address with the text of a key: 0 where there is one, else the seconds until then."""
        prefix = _PREFIX.match(key)
        if prefix is not None and await self._known.secret_sha256(prefix[1]) is not None:
            return self._buckets.take(f"{sender} {prefix[1]}")
        return self._buckets.take(sender)
