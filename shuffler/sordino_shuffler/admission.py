"""How often an address may send reports. Addresses are in memory alone, and forgotten with the process."""

from __future__ import annotations

import ipaddress
import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from time import monotonic

from sordino_shared.protocol import Problem
from sordino_shuffler.problems import RequestRefused

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# About 25 MB.
_MOST_SENDERS = 100_000
# A household or a host has a whole network of IPv6 addresses to choose from.
_IPV6_PREFIX = 64


class AddressRates:
    """A token bucket for each address: `per_s` uploads a second and `burst` at once; 0 a second: no limit."""

    def __init__(self, per_s: int, burst: int, proxies: Sequence[_Network]) -> None:
        self._per_s = per_s
        self._burst = burst
        self._proxies = proxies
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admit(self, peer: str | None, forwarded: Iterable[bytes]) -> None:
        """Take one; raises RequestRefused where the address has none left."""
        if not self._per_s:
            return
        wait = self._take(self._sender(peer, forwarded), monotonic())
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

    def _sender(self, peer: str | None, forwarded: Iterable[bytes]) -> str:
        """The nearest address that is no trusted proxy's; of IPv6, its network of 64 bits."""
        address = _parsed(peer or "")
        if address is None:
            return ""
        hops = [hop.strip() for value in forwarded for hop in value.decode("latin-1").split(",")]
        while hops and self._trusts(address):
            known = _parsed(hops.pop())
            if known is None:
                break
            address = known
        if address.version == 4:
            return str(address)
        return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))

    def _trusts(self, address: _Address) -> bool:
        return any(address.version == network.version and address in network for network in self._proxies)


def _parsed(text: str) -> _Address | None:
    """An address as proxies write it: some append the port, and IPv6 then stands in brackets."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
