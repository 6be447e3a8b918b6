"""The servers of a campaign that has several: each device keeps to one of them, and ids of different ones differ."""

from __future__ import annotations

import re

from sordino_shared._checks import check_distinct, check_length, check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.series import EPOCHS

MAX_SERVERS = 16
MAX_URLS = 4
MAX_SOURCE = 24
MAX_URL = 200

_SOURCE = re.compile(r"[a-z0-9][a-z0-9-]*")
_URL = re.compile(
    r"(?P<scheme>https?)://(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::(?P<port>[1-9][0-9]{0,4}))?"
    r"(?:/(?!\.\.?(?:/|$))[A-Za-z0-9._~-]+)*"
)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_PORT = 65_535


def check_source(name: str) -> None:
    """The name of a source: 1 to 24 lower-case letters, digits and hyphens, the first of them no hyphen."""
    check_length(name, 1, MAX_SOURCE, "name of a source")
    if not _SOURCE.fullmatch(name):
        raise InvalidValue(f"name of a source must be lower-case letters, digits and hyphens, got {name!r}", name)


@dataclass(frozen=True)
class CampaignServer:
    """One of a campaign's servers: `name` is that of its source, `urls` are the addresses of its API.

    An address has one spelling, so that two of them are equal exactly if their texts are.
    """

    name: str
    urls: tuple[str, ...]

    def __post_init__(self) -> None:
        check_source(self.name)
        check_urls(self.urls)


def check_urls(urls: tuple[str, ...]) -> None:
    """Raise InvalidValue unless these are 1 to 4 addresses of one server, each in its one spelling and once."""
    check_range(len(urls), 1, MAX_URLS, "number of addresses of a server")
    for url in urls:
        _check_url(url)
    check_distinct(urls, "addresses of a server")


def check_servers(servers: tuple[CampaignServer, ...]) -> None:
    """Raise InvalidValue unless there are at most 16, and no name and no address occurs twice."""
    check_range(len(servers), 0, MAX_SERVERS, "number of servers")
    check_distinct([server.name for server in servers], "names of servers")
    check_distinct([url for server in servers for url in server.urls], "addresses of servers")


def epochs_of_source(servers: tuple[CampaignServer, ...], place: int, base: int) -> tuple[int, int]:
    """(first, number) of the epochs of report ids at the server in `place` of S: from base + ⌊place · 2¹⁶/S⌋ on.

    They end before those of the next server begin; a campaign without `servers` has all 2¹⁶.
    """
    among = max(len(servers), 1)
    start, end = (EPOCHS * each // among for each in (place, place + 1))
    return (base + start) % EPOCHS, end - start


def _check_url(url: str) -> None:
    check_length(url, 8, MAX_URL, "address of a server")
    found = _URL.fullmatch(url)
    port = None if found is None else int(found["port"] or 0)
    if found is None or port is None or port > _MAX_PORT or port == _DEFAULT_PORTS[found["scheme"]]:
        raise InvalidValue(
            "address of a server must look like https://eu.telemetry.example: lower-case host, no default port, no "
            f"slash at the end, no query, got {url!r}",
            url,
        )
