"""How many processes of this machine can work at the same time."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """The cores that this process may use; on systems that do not say, those of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
