"""The only wall clock of the server, injected so that tests can move it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class ServerClock(Protocol):
    """Whole Unix seconds; nothing promises that they never go back."""

    def now(self) -> int:
        """Seconds since 1970-01-01 UTC."""


class WallClock:
    """The machine's clock."""

    def now(self) -> int:
        return int(time.time())


class ManualClock:
    """A clock that only moves when told to: for tests and replays."""

    def __init__(self, now: int = 1_800_000_000) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def advance(self, seconds: int) -> None:
        """Move by `seconds`; a negative number is a clock that jumps back."""
        self._now += seconds


def iso_8601(unix: int) -> str:
    """A time of the server's clock as text in UTC, such as 2026-11-22T14:05:00Z."""
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
