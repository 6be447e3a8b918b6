"""Addresses of clients, where `X-Forwarded-For` counts only from trusted proxies, and names of this server."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from starlette.types import Scope

from sordino_shared.errors import InvalidValue

NO_PROXY = "none"
ANY_HOST = "any"
_HOST = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*|[0-9a-f:.]+")
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
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

    def sender(self, scope: Scope) -> str:
        """The nearest address that is no trusted proxy's; of IPv6, its network of 64 bits."""
        peer = scope.get("client")
        address = None if peer is None else _parsed(peer[0])
        if address is None:
            return ""
        for hop in reversed(_forwarded(scope) if self._trusts(address) else []):
            known = _parsed(hop)
            if known is None:
                break
            address = known
            if not self._trusts(address):
                break
        return _network(address)

    def trusts_peer(self, scope: Scope) -> bool:
        """Whether the request came directly from a trusted proxy."""
        peer = scope.get("client")
        address = None if peer is None else _parsed(peer[0])
        return address is not None and self._trusts(address)

    def _trusts(self, address: _Address) -> bool:
        return any(address.version == network.version and address in network for network in self.networks)


@dataclass(frozen=True)
class PublicHosts:
    """Names by which browsers reach the server over TLS; None: by any name."""

    names: frozenset[str] | None

    @classmethod
    def parse(cls, text: str) -> PublicHosts:
        """From names between commas, without ports, or `any`."""
        if text.strip() == ANY_HOST:
            return cls(None)
        names = [part.strip().lower().removeprefix("[").removesuffix("]") for part in text.split(",")]
        if wrong := [name for name in names if not _HOST.fullmatch(name)]:
            raise InvalidValue(
                f"write names between commas, without scheme and port, such as telemetry.example, or {ANY_HOST}; "
                f"{wrong[0]!r} is none",
                text,
            )
        return cls(frozenset(names))

    def has(self, host: str) -> bool:
        """Whether the server has this name, in lower case and without a port."""
        return self.names is None or host in self.names


def is_this_machine(host: str) -> bool:
    """Whether a name or address of a server is one that only programs on the same machine reach."""
    return host == "localhost" or host.endswith(".localhost") or is_loopback(host)


def is_loopback(text: str) -> bool:
    """Whether this is an address, as 127.0.0.1 and ::1, that no other machine can have."""
    address = _parsed(text)
    return address is not None and address.is_loopback


def _forwarded(scope: Scope) -> list[str]:
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    return [hop.strip() for value in values for hop in value.split(",")]


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


def _network(address: _Address) -> str:
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))
