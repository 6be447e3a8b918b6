"""The SDK's only reading of the wall clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Unix seconds."""

    def now(self) -> float:
        """Seconds since 1970; may jump either way, and nothing may depend on its not doing so."""
        ...


class SystemClock:
    """The operating system's clock."""

    def now(self) -> float:
        return time.time()
