"""How one round follows another: closed by hand or by its rule, and the next one opened once its plan is sealed."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_server import rounds
from sordino_server.campaigns import repository, service
from sordino_server.kit.db import Database
from sordino_server.models import Campaign
from sordino_server.plans import service as plans
from sordino_shared.audit import check_guarantee
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignState, DevicePart, IllegalTransition, Manifest


def close_round(database: Database, session: Session, identifier: str, index: int, now: int) -> Campaign:
    """Close an open round; the campaign closes with its last one."""
    campaign = service.locked(session, identifier)
    rounds.close_round(database, session, identifier, index, now)
    if index + 1 == len(Manifest.read(campaign.manifest).rounds):
        service.change_state(campaign, CampaignState.CLOSED)
        campaign.closed_at = now
    return campaign


def retry_round(database: Database, session: Session, identifier: str, index: int) -> Campaign:
    """Have a worker take up a closed round again that failed."""
    campaign = service.locked(session, identifier)
    rounds.retry_round(database, session, identifier, index)
    return campaign


def close_due_rounds(database: Database, now: int) -> list[rounds.RoundName]:
    """Close the rounds that have their reports or their time; those that somebody closed meanwhile are left out."""
    with database.read("find due rounds") as session:
        due = repository.due_rounds(session, now)
    return [(campaign, index) for campaign, index in due if _closed(database, campaign, index, now)]


def _closed(database: Database, campaign: str, index: int, now: int) -> bool:
    try:
        database.run("close due round", lambda session: close_round(database, session, campaign, index, now))
    except IllegalTransition:
        return False
    return True


def open_next_round(
    database: Database,
    session: Session,
    campaign: Campaign,
    index: int,
    device: DevicePart,
    analyst: AnalystPart,
    now: int,
) -> None:
    """Seal the plan of round `index` and open the round, in the caller's transaction.

    Raises InvalidValue for a plan that devices would refuse.
    """
    check_round_plan(Manifest.read(campaign.manifest), index, device, analyst)
    digests = plans.keep_round(session, device, analyst, now)
    session.add(service.sealed_round(campaign.id, index, *digests, now))
    session.flush()
    rounds.open_round(database, session, campaign.id, index, now)


def check_round_plan(manifest: Manifest, index: int, device: DevicePart, analyst: AnalystPart) -> None:
    """Raise InvalidValue unless the plan keeps what the manifest says of round `index`, as every device checks."""
    if index >= len(manifest.rounds):
        raise InvalidValue(f"the protocol asks for round {index}, the manifest has {len(manifest.rounds)}", device)
    if analyst.device_digest != device.digest:
        raise InvalidValue(f"the two parts of round {index} belong to different plans", device)
    if device.domain != manifest.domain:
        raise InvalidValue(f"the domain of round {index} is not the manifest's", device)
    allowed = manifest.rounds[index].guarantee
    check_guarantee(device)
    if device.guarantee > allowed:
        raise InvalidValue(f"the plan of round {index} spends more than the manifest's {allowed}", device)
