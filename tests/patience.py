"""How long tests wait on a machine that does other things too."""

from __future__ import annotations

import os

# A wait for something that comes ends long before; one that reaches this has failed.
PATIENCE_S = 300.0


def slack(seconds: float) -> float:
    """`seconds` where every core is free, and longer by as many processes as share a core."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
