"""How many idle connections one address may hold: the oldest ends when one more comes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from sordino_shared.http.senders import TrustedProxies


class OpenConnection(Protocol):
    """What is known of a connection."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being answered."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class IdleConnections:
    """The connections of one process by address, of IPv6 by the network of 64 bits; trusted proxies are not counted.

    Each connection is a descriptor, and without a limit a few hundred of one client keep everybody else out until the
    head of their request is due. More than `most` of an address may be open where they are being answered.
    """

    def __init__(self, most: int, proxies: TrustedProxies) -> None:
        self._most = most
        self._proxies = proxies
        self._open: dict[str, OrderedDict[OpenConnection, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def add(self, connection: OpenConnection, peer: tuple[str, int] | None) -> str | None:
        """Count a new connection, and end the oldest idle one of its address where it is one too many.

        Returns under what it is counted, for `remove`; None where it is not.
        """
        address = self._address(peer)
        if address is None:
            return None
        mine = self._open.setdefault(address, OrderedDict())
        if len(mine) >= self._most and (oldest := next((each for each in mine if each.is_idle), None)) is not None:
            # Now, not when it has ended: many may come before.
            del mine[oldest]
            oldest.close()
        mine[connection] = None
        return address

    def remove(self, connection: OpenConnection, address: str) -> None:
        """Forget a connection that has ended."""
        mine = self._open.get(address, OrderedDict())
        mine.pop(connection, None)
        if not mine:
            self._open.pop(address, None)

    def _address(self, peer: tuple[str, int] | None) -> str | None:
        scope = {"client": peer, "headers": ()}
        return None if peer is None or self._proxies.trusts_peer(scope) else self._proxies.sender(scope)
