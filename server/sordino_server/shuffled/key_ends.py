"""The end of keys: a key is deleted once nothing that it opens is still to be counted."""

from __future__ import annotations

import math
from itertools import pairwise

from sqlalchemy.orm import Session

from sordino_server.kit.db import Database
from sordino_server.models import Campaign, SeriesRow
from sordino_server.shuffled import repository
from sordino_server.shuffled.round_keys import RoundKeys
from sordino_shared.protocol import CampaignState, Manifest
from sordino_shared.protocol.routes import ShuffledRoute

# The batch of a period may come late, and the first one of a series makes the first round: a key waits this long
# for the batches that are missing. A shuffler knows a device's report for as long.
BATCHES_COME_S = 30 * 86_400


def delete_ended_keys(database: Database, keys: RoundKeys, now: int) -> list[str]:
    """Delete the keys whose rounds are estimated, cancelled or withheld; returns the campaigns.

    The key of a period whose batch is missing is kept for `BATCHES_COME_S` seconds more.
    """
    having = keys.spans()
    if not having:
        return []
    with database.read("find ended keys") as session:
        over = {campaign: _ended(session, campaign, spans, now) for campaign, spans in having.items()}
    for campaign, spans in over.items():
        for first in spans:
            keys.delete_opening(campaign, first)
    return [campaign for campaign, spans in over.items() if spans]


def _ended(session: Session, identifier: str, having: list[int], now: int) -> list[int]:
    """The first rounds of the keys that no round needs any more."""
    campaign = session.get(Campaign, identifier)
    route = None if campaign is None else Manifest.read(campaign.manifest).route
    if campaign is None or not isinstance(route, ShuffledRoute):
        # It is created in a moment, or the folder is another server's, too.
        return []
    rounds = repository.rounds_of(session, identifier)
    series = session.get(SeriesRow, identifier)
    ends = _ends(route)
    state = campaign.state

    def is_over(first: int) -> bool:
        own = {number: ended for number, ended in rounds if first <= number < ends[first]}
        if not all(own.values()):
            return False
        if series is None:
            return bool(own)
        if state == CampaignState.CANCELLED:
            return True
        if state != CampaignState.CLOSED and series.closed_periods < ends[first]:
            return False
        last = int(min(ends[first], series.closed_periods))
        return sum(number < last for number in own) >= last - first or now >= _come_until(series, last)

    return [first for first in having if first in ends and is_over(first)]


def _come_until(series: SeriesRow, last: int) -> int:
    """Until when a batch of a period before `last` may come."""
    return series.law.accepted_until(last - 1) + BATCHES_COME_S


def _ends(route: ShuffledRoute) -> dict[int, float]:
    """By the first round of each key, the first round that is another's."""
    first = [each.from_round for each in route.keys]
    return {**dict(pairwise(first)), first[-1]: math.inf}
