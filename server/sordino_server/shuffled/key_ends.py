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

_ENDED = (CampaignState.CLOSED, CampaignState.CANCELLED)


def delete_ended_keys(database: Database, keys: RoundKeys) -> list[str]:
    """Delete the keys whose rounds are estimated, cancelled or withheld; returns the campaigns."""
    having = keys.spans()
    if not having:
        return []
    with database.read("find ended keys") as session:
        over = {campaign: _ended(session, campaign, spans) for campaign, spans in having.items()}
    for campaign, spans in over.items():
        for first in spans:
            keys.delete_opening(campaign, first)
    return [campaign for campaign, spans in over.items() if spans]


def _ended(session: Session, identifier: str, having: list[int]) -> list[int]:
    """Those of the keys, by their first round, that open nothing any more."""
    campaign = session.get(Campaign, identifier)
    route = None if campaign is None else Manifest.read(campaign.manifest).route
    if campaign is None or not isinstance(route, ShuffledRoute):
        # It is created in a moment, or the folder is another server's, too.
        return []
    rounds = repository.rounds_of(session, identifier)
    series = session.get(SeriesRow, identifier)
    ends = _ends(route)
    over = campaign.state in _ENDED

    def is_over(first: int) -> bool:
        own = [ended for number, ended in rounds if first <= number < ends[first]]
        if series is None:
            return bool(own) and all(own)
        return all(own) and (over or series.closed_periods >= ends[first])

    return [first for first in having if first in ends and is_over(first)]


def _ends(route: ShuffledRoute) -> dict[int, float]:
    """By the first round of each key, the first round that is another's."""
    first = [each.from_round for each in route.keys]
    return {**dict(pairwise(first)), first[-1]: math.inf}
