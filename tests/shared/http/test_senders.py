"""The sender of a request: headers are believed only of trusted proxies, hop by hop from the nearest."""

from __future__ import annotations

import pytest

from sordino_shared.errors import InvalidValue
from sordino_shared.http.senders import TrustedProxies


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "sender"),
    [
        ("none", "192.0.2.1", [], "192.0.2.1"),
        ("none", "192.0.2.1", ["203.0.113.1"], "192.0.2.1"),
        ("10.0.0.0/8", "192.0.2.1", ["203.0.113.1"], "192.0.2.1"),
        ("10.0.0.0/8", "10.0.0.1", ["203.0.113.1"], "203.0.113.1"),
        ("10.0.0.0/8", "10.0.0.1", ["6.6.6.6, 203.0.113.1"], "203.0.113.1"),
        ("10.0.0.0/8", "10.0.0.1", ["6.6.6.6", "203.0.113.1, 10.0.0.2"], "203.0.113.1"),
        ("10.0.0.0/8", "10.0.0.1", ["203.0.113.1:4711"], "203.0.113.1"),
        ("10.0.0.0/8", "10.0.0.1", ["6.6.6.6, nonsense"], "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", ["10.0.0.3"], "10.0.0.3"),
        ("10.0.0.0/8, ::1", "::1", ["[2001:db8:1:2:3::4]:443"], "2001:db8:1:2::/64"),
        ("10.0.0.0/8", "::ffff:10.0.0.1", ["203.0.113.1"], "203.0.113.1"),
    ],
)
def test_the_nearest_address_that_is_not_trusted(trusted: str, peer: str, forwarded: list[str], sender: str) -> None:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    assert TrustedProxies.parse(trusted).sender({"client": (peer, 1), "headers": headers}) == sender


def test_without_a_peer_there_is_one_sender() -> None:
    assert TrustedProxies.parse("none").sender({"client": None, "headers": []}) == ""


@pytest.mark.parametrize("text", ["", "everybody", "10.0.0.1/8", "10.0.0.0/8,"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="none"):
        TrustedProxies.parse(text)
