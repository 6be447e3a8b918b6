"""How far one report can move each answer: sums of few such moves are not normal, however many users report."""

from __future__ import annotations

import numpy as np

from sordino_server.design.arrays import Floats
from sordino_server.design.contributions import extreme_contributions
from sordino_server.design.weighted_decoder import PlainDecoder
from sordino_server.design.workloads import Workload
from sordino_shared.randomizers import Randomizer, SeededDirection

# An answer moved by equal rare events is normal enough from this many of them on. Measured of randomised response: with
# 11 events a query, bands of 95 % held in 91 % of campaigns; with fewer than one, intervals held 84 % of the time.
RARE_EVENTS = 20
# A coordinate of a uniform direction has lighter tails than a normal variable: what is past three of its standard
# deviations, 1/√d each, matters no more than there.
_DIRECTION_REACH = 3.0


def largest_contributions(randomizer: Randomizer, decoder: PlainDecoder, workload: Workload, centre: Floats) -> Floats:
    """(Q,) a bound on |one report's contribution to an answer − `centre`|, over everything a device can send.

    Seeded directions have no rare events, so theirs is a bound for all but a few in a thousand.
    """
    reach = 1.0
    if isinstance(randomizer, SeededDirection):
        reach = min(1.0, _DIRECTION_REACH / np.sqrt(randomizer.dimension))
    low, high = extreme_contributions(randomizer, decoder, workload, reach)
    return np.maximum(np.abs(low - centre), np.abs(high - centre))


def needed_users(largest: Floats, deviations: Floats) -> Floats:
    """(Q,) the users from whom on an answer of one user's standard deviation `deviations` counts as normal.

    N equal events of chance p have largest/deviation = 1/√p, so largest²/deviation² users see one of them: 20 are asked
    for. Answers without deviation need nobody.
    """
    return np.asarray(
        RARE_EVENTS * np.divide(largest, deviations, out=np.zeros_like(largest), where=deviations > 0) ** 2
    )
