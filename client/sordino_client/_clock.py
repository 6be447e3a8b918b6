"""The SDK's only reading of the wall clock."""

from __future__ import annotations

import math
import time
from typing import Protocol

from sordino_client._errors import ClockUnusable

# The last second of the year 9999.
LATEST_S = 253_402_300_799


class Clock(Protocol):
    """Unix seconds."""

    def now(self) -> float:
        """Seconds since 1970; may jump either way, and nothing may depend on its not doing so."""
        ...


class SystemClock:
    """The operating system's clock."""

    def now(self) -> float:
        return time.time()


def seconds(clock: Clock) -> float:
    """What the clock shows, 0 before 1970; raises `ClockUnusable` for what is no time before the year 10000."""
    try:
        now = float(clock.now())
    except (OSError, OverflowError, TypeError, ValueError) as error:
        raise ClockUnusable(f"it cannot be read ({error})") from error
    if not math.isfinite(now) or now > LATEST_S:
        raise ClockUnusable(f"it shows {now:g} seconds since 1970")
    return max(now, 0.0)
