"""How long tests wait on a machine that does other things too."""

from __future__ import annotations

import os

# A wait for something that comes ends long before; one that reaches this has failed.
PATIENCE_S = 300.0


def slack(seconds: float) -> float:
    """Three times `seconds` where every core is free, and longer by as many processes as share a core.

    Three times, since the load is the mean of a minute: work that has just begun beside the tests is not in it yet.
    """
    return 3 * seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
