"""Who took part in which round, and whether that could bias the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from sordino_analysis.percentages import percent
from sordino_shared.quantities import quantity

# Users who stay away because of what they hold move a mean by up to their share of the range of the statistic: a
# hundredth of it is what an analyst should see.
TOLERATED_LOSS = 0.01
# False alarms where everybody answers the round that was drawn: 6·10⁻⁵.
TOLERATED_STANDARD_ERRORS = 4.0


def participation_warnings(first_share: float | None, users: Sequence[int]) -> list[str]:
    """What the reports counted in each round give reason to warn of, in words.

    `first_share` is the probability of round 0 where every device draws one of two rounds, None where each device
    answers all.
    """
    if first_share is not None:
        return _of_drawn_rounds(first_share, users)
    return [
        f"round {index + 1} has {quantity(before - after, 'report')} fewer than round {index} "
        f"({percent(1 - after / before, 1)}): if who stays away depends on the value, the answer is biased by up to "
        "that share"
        for index, (before, after) in enumerate(pairwise(users))
        if after < (1 - TOLERATED_LOSS) * before
    ]


def source_warnings(name: str, first_share: float | None, reports: Mapping[int, int | None]) -> list[str]:
    """The same of one source of sums, by its reports in each round; None where it sent nothing."""
    came = [count for count in reports.values() if count is not None]
    lacking = [
        f"source {name} sent no sums of round {index}: its users are not in the answer"
        for index, count in reports.items()
        if count is None
    ]
    return lacking or [f"source {name}: {text}" for text in participation_warnings(first_share, came)]


def _of_drawn_rounds(first_share: float, users: Sequence[int]) -> list[str]:
    if len(users) < 2:
        return []
    total = sum(users)
    expected = first_share * total
    if abs(users[0] - expected) <= TOLERATED_STANDARD_ERRORS * math.sqrt(expected * (1 - first_share)):
        return []
    return [
        f"{users[0]} of {total} reports are of round 0, about {round(expected)} were to be: devices missed the "
        "round they drew, and if who did depends on the value, the answer is biased"
    ]
