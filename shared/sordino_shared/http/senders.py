"""Who sent a request, where `X-Forwarded-For` counts only from trusted proxies: for services that limit senders."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue

# In place of networks: nobody is believed.
NO_PROXY = "none"
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# A household or a host has a whole network of IPv6 addresses to choose from.
_IPV6_PREFIX = 64


@dataclass(frozen=True)
class TrustedProxies:
    """Networks whose hosts append, to `X-Forwarded-For`, the address that they were asked from."""

    networks: tuple[_Network, ...]

    @classmethod
    def parse(cls, text: str) -> TrustedProxies:
        """From addresses and networks between commas, or `none`."""
        if text.strip() == NO_PROXY:
            return cls(())
        try:
            return cls(tuple(ipaddress.ip_network(part.strip()) for part in text.split(",")))
        except ValueError as error:
            raise InvalidValue(
                f"write addresses and networks between commas, such as 10.0.0.0/8,::1, or {NO_PROXY}: {error}", text
            ) from error

    def sender(self, scope: Mapping[str, Any]) -> str:
        """The nearest address of an ASGI scope that is no trusted proxy's; of IPv6, its network of 64 bits."""
        peer = scope.get("client")
        address = None if peer is None else address_of(peer[0])
        if address is None:
            return ""
        for hop in reversed(_forwarded(scope) if self._trusts(address) else []):
            known = address_of(hop)
            if known is None:
                break
            address = known
            if not self._trusts(address):
                break
        return _network(address)

    def trusts_peer(self, scope: Mapping[str, Any]) -> bool:
        """Whether the request came directly from a trusted proxy."""
        peer = scope.get("client")
        address = None if peer is None else address_of(peer[0])
        return address is not None and self._trusts(address)

    def _trusts(self, address: Address) -> bool:
        return any(address.version == network.version and address in network for network in self.networks)


def _forwarded(scope: Mapping[str, Any]) -> list[str]:
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    return [hop.strip() for value in values for hop in value.split(",")]


def address_of(text: str) -> Address | None:
    """An address as proxies write it, None for other text: some append the port, and IPv6 then stands in brackets."""
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


def _network(address: Address) -> str:
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))
