"""The clocks."""

import time

from sordino_server.kit.clock import ManualClock, WallClock


def test_the_systems_clock_is_the_machines():
    assert abs(WallClock().now() - time.time()) < 2


def test_a_manual_clock_moves_only_when_told():
    clock = ManualClock(100)
    assert clock.now() == clock.now() == 100
    clock.advance(5)
    clock.advance(-10)
    assert clock.now() == 95
