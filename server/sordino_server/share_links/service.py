"""Make, open and take back links to a result. The database has the SHA-256 of what a link is opened with."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.answers import stored
from sordino_server.campaigns import service as campaigns
from sordino_server.errors import ServerError, found
from sordino_server.kit.db import Database
from sordino_server.models import ShareLink
from sordino_server.share_links import repository
from sordino_server.share_links.schemas import NewShareLink, ShareLinkDocument, ShareLinkList
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignState, Problem

# 256 bits, as a session has: nobody guesses one.
_TOKEN_BYTES = 32
_TOKEN = re.compile("[A-Za-z0-9_-]{43}")
# More links of one result are forgotten ones: take some back.
MOST_ALIVE = 100
_GONE = "this link was taken back, has ended, or was never made: ask its sender for another one"


@dataclass(frozen=True, kw_only=True)
class OpenedLink:
    """What a link opens: the estimate of one round of a campaign, which never changes; nothing of a cancelled one."""

    link: int
    campaign: str
    round: int
    cancelled: bool


def create(session: Session, campaign: str, until: int | None, by: str, now: int) -> NewShareLink:
    """A link to the campaign's last estimate; a later one needs another link.

    Raises `estimate-not-ready` before there is one, `illegal-transition` for a cancelled campaign and beyond 100 links,
    InvalidValue for an end that has passed.
    """
    row = campaigns.get(session, campaign)
    if row.state == CampaignState.CANCELLED:
        raise ServerError(Problem.ILLEGAL_TRANSITION, "a cancelled campaign has no result to share", state=row.state)
    if until is not None and until <= now:
        raise InvalidValue("/until: the link would have ended already: give a later time, or null", until)
    stored.stored_last(session, campaign, now)
    estimated = repository.last_estimated(session, campaign)
    assert estimated is not None, "its estimate was just read"
    if repository.alive(session, campaign, now) >= MOST_ALIVE:
        detail = f"the campaign has {MOST_ALIVE} links that open: take some back first"
        raise ServerError(Problem.ILLEGAL_TRANSITION, detail, state=row.state)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    link = ShareLink(
        token_sha256=_hash(token), campaign_id=campaign, round_id=estimated, created_by=by, created_at=now, until=until
    )
    session.add(link)
    session.flush()
    return NewShareLink(**ShareLinkDocument.of(link).model_dump(exclude={"created"}), path=f"/shared/{token}")


def listed(session: Session, campaign: str) -> ShareLinkList:
    """All links of a campaign; raises `not-found`."""
    campaigns.get(session, campaign)
    rows = repository.of_campaign(session, campaign)
    return ShareLinkList(share_links=[ShareLinkDocument.of(row) for row in rows])


def revoke(session: Session, campaign: str, number: int, now: int) -> tuple[ShareLink, bool]:
    """Take a link back, from the commit on; whether it was not yet. Raises `not-found`."""
    link = found(repository.find(session, campaign, number), f"the campaign has no share link {number}")
    changed = link.revoked_at is None
    if changed:
        link.revoked_at = now
    return link, changed


def opened(session: Session, token: str, now: int) -> OpenedLink:
    """What the link opens; raises `not-found` for one that was taken back or has ended."""
    link = repository.find_by_token(session, _hash(token)) if _TOKEN.fullmatch(token) else None
    if link is None or link.revoked_at is not None or (link.until is not None and link.until <= now):
        raise ServerError(Problem.NOT_FOUND, _GONE)
    cancelled = campaigns.get(session, link.campaign_id).state == CampaignState.CANCELLED
    return OpenedLink(link=link.id, campaign=link.campaign_id, round=link.round_id, cancelled=cancelled)


def count_openings(database: Database, openings: Mapping[int, int]) -> None:
    """Add openings by the number of the link, in one transaction."""
    with database.write("count openings") as session:
        # In one order, so that two processes never wait for each other.
        for link, more in sorted(openings.items()):
            repository.count_openings(session, link, more)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
