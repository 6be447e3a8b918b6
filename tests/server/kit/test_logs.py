"""Floods of the same event cost no flood of lines."""

from __future__ import annotations

from sordino_server.kit.logs import Sparingly


def test_one_event_of_a_kind_a_second_and_none_is_lost_from_the_count() -> None:
    now = 10.0
    events = Sparingly(1.0, lambda: now)
    assert [events.times("full") for _ in range(4)] == [1, 0, 0, 0]
    assert events.times("busy") == 1
    now = 10.999
    assert events.times("full") == 0
    now = 11.0
    assert [events.times("full") for _ in range(2)] == [5, 0]
