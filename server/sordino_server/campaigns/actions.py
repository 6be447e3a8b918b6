"""What operators do to a campaign or to a round of it, by the word that a URL ends with: changes in a transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.campaigns import service
from sordino_server.context import Context
from sordino_server.kit.db import Database
from sordino_server.models import Campaign
from sordino_server.public_log.service import check_witnessed


@dataclass(frozen=True, kw_only=True)
class Target:
    """The campaign, and the round of an action on one, that an operator chose; `unwitnessed` opens without the log's
    witnesses.
    """

    context: Context
    campaign: str
    index: int = 0
    unwitnessed: bool = False

    @property
    def database(self) -> Database:
        """Where it is."""
        return self.context.database


@dataclass(frozen=True)
class CampaignChange:
    """Its name in the audit log, what the API says of it, and the campaign after it at a Unix time."""

    name: str
    text: str
    act: Callable[[Session, Target, int], Campaign]


def _opened(session: Session, to: Target, now: int) -> Campaign:
    settings = to.context.settings
    if not to.unwitnessed:
        names = [each.key.name for each in settings.witnesses_asked]
        check_witnessed(session, to.campaign, names, settings.quorum_of_witnesses)
    return service.open_campaign(to.database, session, to.campaign, now, settings.population_mode)


OF_CAMPAIGN: Mapping[str, CampaignChange] = {
    "open": CampaignChange(
        "open campaign",
        "Open the campaign: its first round accepts reports.",
        lambda session, to, now: _opened(session, to, now),
    ),
    "close": CampaignChange(
        "close campaign",
        "Close the campaign: refuse later reports; a worker computes the estimate from the rounds so far.",
        lambda session, to, now: service.close_campaign(to.database, session, to.campaign, now),
    ),
    "pause": CampaignChange(
        "pause series",
        "Pause a series: devices answer nothing and reports are refused until it is resumed.",
        lambda session, to, now: service.pause_series(session, to.campaign, now),
    ),
    "resume": CampaignChange(
        "resume series",
        "Resume a paused series.",
        lambda session, to, now: service.resume_series(session, to.campaign, now),
    ),
    "cancel": CampaignChange(
        "cancel campaign",
        "Cancel the campaign permanently, without an estimate.",
        lambda session, to, now: service.cancel_campaign(to.database, session, to.campaign, now),
    ),
    "archive": CampaignChange(
        "archive campaign",
        "Archive a campaign that is not open: lists with `archived=false` leave it out. Nothing is deleted.",
        lambda session, to, now: service.archive(session, to.campaign, now),
    ),
    "restore": CampaignChange(
        "restore campaign",
        "Restore an archived campaign.",
        lambda session, to, _: service.restore(session, to.campaign),
    ),
}
OF_ROUND: Mapping[str, CampaignChange] = {
    "close": CampaignChange(
        "close round",
        "Close a round: a worker opens the next one; after the last it computes the estimate and closes the campaign.",
        lambda session, to, now: service.close_round(to.database, session, to.campaign, to.index, now),
    ),
    "retry": CampaignChange(
        "retry round",
        "Retry the failed step of a closed round, after its cause is removed.",
        lambda session, to, _: service.retry_round(to.database, session, to.campaign, to.index),
    ),
    "waive-sources": CampaignChange(
        "waive sources",
        "Wait no longer for the sources whose sums of a closed round have not come.",
        lambda session, to, now: service.waive_sources(to.database, session, to.campaign, to.index, now),
    ),
}
