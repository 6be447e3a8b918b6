"""The end of keys: a key is deleted once nothing that it opens is still to be counted."""

from __future__ import annotations

from sordino_server.kit.db import Database
from sordino_server.shuffled import repository
from sordino_server.shuffled.round_keys import RoundKeys


def delete_ended_keys(database: Database, keys: RoundKeys) -> list[str]:
    """Delete the keys of campaigns whose round is estimated, cancelled or withheld; returns the campaigns."""
    having = keys.campaigns()
    if not having:
        return []
    with database.read("find ended keys") as session:
        over = repository.ended_among(session, having)
    for campaign in over:
        keys.delete_opening(campaign)
    return over
