"""Buckets fill at their rate, hold their burst, and their table stays small."""

from __future__ import annotations

import pytest

from sordino_server.kit.token_buckets import TokenBuckets


class Tick:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_and_then_the_rate() -> None:
    tick = Tick()
    buckets = TokenBuckets(2.0, 3, tick=tick)
    assert [buckets.take("a") for _ in range(3)] == [0.0] * 3
    assert buckets.take("a") == pytest.approx(0.5)
    tick.now += 0.5
    assert buckets.take("a") == 0
    assert buckets.take("a") == pytest.approx(0.5)
    assert buckets.take("b") == 0
    tick.now += 1000
    assert [bool(buckets.take("a")) for _ in range(4)] == [False, False, False, True]


def test_who_waits_loses_nothing_by_asking() -> None:
    tick = Tick()
    buckets = TokenBuckets(1.0, 1, tick=tick)
    taken = 0
    for _ in range(100):
        taken += not buckets.take("a")
        tick.now += 0.25
    assert taken == 25


def test_the_table_is_bounded_and_forgets_whom_it_saw_last() -> None:
    tick = Tick()
    buckets = TokenBuckets(0.001, 1, most=3, tick=tick)
    for key in ("a", "b", "c", "a", "d"):
        buckets.take(key)
    assert len(buckets) == 3
    assert buckets.take("a") > 0
    assert buckets.take("b") == 0
