"""Servers of a manifest: addresses with one spelling, and epochs that never meet."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sordino_client._transport import check_address
from sordino_shared.protocol import CampaignServer, epochs_of_source

PORTS = ("", ":8443", ":65535")
HOSTS = ("eu.example", "a", "127.0.0.1", "[::1]", "xn--bcher-kva.example")


@pytest.mark.parametrize("base", [0, 20_780, 65_535])
@pytest.mark.parametrize("among", range(17))
def test_epochs_of_servers_divide_the_circle(among: int, base: int) -> None:
    servers = tuple(CampaignServer(f"s{place}", (f"https://s{place}",)) for place in range(among))
    ranges = [epochs_of_source(servers, place, base) for place in range(max(among, 1))]
    assert ranges[0][0] == base
    assert sum(count for _, count in ranges) == 1 << 16
    assert all((first + count) % (1 << 16) == after for (first, count), (after, _) in pairwise(ranges))
    assert {(first + step) % (1 << 16) for first, count in ranges for step in range(count)} == set(range(1 << 16))


@pytest.mark.parametrize(
    "url", [f"https://{host}{port}{path}" for host in HOSTS for port in PORTS for path in ("", "/v")]
)
def test_an_address_of_a_manifest_is_spelled_as_the_sdk_spells_it(url: str) -> None:
    assert CampaignServer("eu", (url,)).urls == (check_address(f"{url}/", allow_http=False),)
