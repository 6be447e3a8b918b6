"""Names and addresses of this server, and whether one is this machine's own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sordino_shared.errors import InvalidValue
from sordino_shared.http.senders import address_of

ANY_HOST = "any"
_HOST = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*|[0-9a-f:.]+")


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
    address = address_of(text)
    return address is not None and address.is_loopback
