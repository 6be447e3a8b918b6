"""Where an HTTP server is."""

from __future__ import annotations

import re
from typing import Self
from urllib.parse import quote, urlsplit

from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[0-9A-Za-z_.:%-]+")
_SAFE = "/?&=%:@!$'()*+,;~-._"


@dataclass(frozen=True)
class Address:
    """A server: `host` in ASCII, `path` what precedes the paths of requests."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """From http://host:port/path or https://…; raises InvalidValue for anything else."""
        try:
            parts = urlsplit(text)
            host, port = _ascii(parts.hostname or ""), parts.port
        except ValueError as error:
            raise InvalidValue(f"the server's address cannot be read: {error}", text) from error
        if parts.scheme not in _PORTS:
            raise InvalidValue(f"the server's address starts with http:// or https://, got {text!r}", text)
        if not _HOST.fullmatch(host) or port == 0:
            raise InvalidValue(f"the server's address cannot be read: {text!r} names no host", text)
        if parts.query or parts.fragment or parts.username is not None:
            raise InvalidValue("the server's address must not carry a query, a fragment or a user", text)
        return cls(parts.scheme, host, port or _PORTS[parts.scheme], parts.path.rstrip("/"))

    @classmethod
    def parse_url(cls, text: str) -> tuple[Self, str]:
        """The server of a whole address, and the path with the query that is asked for there."""
        try:
            parts = urlsplit(text)
        except ValueError as error:
            raise InvalidValue(f"the server's address cannot be read: {error}", text) from error
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        return cls.parse(f"{parts.scheme}://{parts.netloc}"), path

    @property
    def authority(self) -> str:
        """The host, with the port where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def url(self, path: str) -> str:
        """The whole address of a path."""
        return f"{self.scheme}://{self.authority}{self.path}{path}"

    def target(self, path: str) -> str:
        """The path and query of a request line in ASCII; raises UnicodeEncodeError for half a surrogate pair."""
        return quote(f"{self.path}{path}", safe=_SAFE)


def _ascii(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode("ascii")
