"""The one reading of the wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]


def wall_clock() -> float:
    """Unix seconds."""
    return time.time()
