"""What is written to the log, each entry in the transaction that it is about. Without a log nothing is written."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server.models import Campaign, Log, LogEntryRow
from sordino_server.public_log import repository
from sordino_shared.protocol import CampaignId, CampaignState, Digest, LogEntry, Manifest
from sordino_shared.protocol.log_entries import (
    EndState,
    LoggedCampaign,
    LoggedEnd,
    LoggedEvent,
    LoggedPlan,
    LoggedPolicy,
    entry_of_manifest,
    logged_parts,
)
from sordino_shared.protocol.log_tree import leaf_hash


def campaign_sealed(session: Session, manifest: Manifest, now: int) -> None:
    """A manifest was sealed: what is asked, of whom, for how much ε."""
    log = repository.current(session)
    if log is not None:
        write(session, log, entry_of_manifest(manifest, logged_parts(manifest), now), str(manifest.campaign))


def plan_sealed(session: Session, campaign: str, index: int, device: Digest, now: int) -> None:
    """The plan of a later round was sealed."""
    log = repository.current(session)
    if log is not None:
        event = LoggedPlan(CampaignId.parse(campaign), index)
        write(session, log, LogEntry(now, bytes(device), event), campaign, index)


def campaign_ended(session: Session, campaign: Campaign, now: int) -> None:
    """A campaign was closed or cancelled; one that was deleted before it opened counts as cancelled."""
    log = repository.current(session)
    if log is not None:
        state = EndState.CLOSED if campaign.state == CampaignState.CLOSED else EndState.CANCELLED
        write(session, log, LogEntry(now, bytes.fromhex(campaign.id), LoggedEnd(state)), campaign.id)


def policy_published(session: Session, log: Log, text: str, now: int) -> LogEntry:
    """A public text of the service; raises InvalidValue for one that no entry takes."""
    entry = LogEntry(now, bytes(Digest.of(text.encode())), LoggedPolicy(text))
    write(session, log, entry)
    return entry


def begin_log(session: Session, origin: str, key: bytes, now: int) -> Log:
    """A new log; its first entries are the campaigns that are not over, so that devices find proofs of them."""
    log = Log(origin=origin, key=key, created_at=now)
    session.add(log)
    session.flush()
    for each in repository.unfinished_campaigns(session):
        manifest = Manifest.read(each.manifest)
        write(session, log, entry_of_manifest(manifest, logged_parts(manifest), now), each.id)
        for index, digest in repository.later_plans(session, each.id):
            plan_sealed(session, each.id, index, Digest.parse(digest), now)
    return log


def row_of(log: Log, content: bytes, number: int | None = None) -> LogEntryRow:
    """The row of an entry's bytes, which name what it is about; raises ProtocolError for other bytes."""
    entry = LogEntry.read(content)
    campaign, index = _about(entry.event, entry.subject)
    row = _row(log, entry, campaign, index)
    row.number = number
    return row


def _about(event: LoggedEvent, subject: bytes) -> tuple[str | None, int | None]:
    if isinstance(event, LoggedPlan):
        return str(event.campaign), event.round
    return (subject.hex(), None) if isinstance(event, LoggedCampaign | LoggedEnd) else (None, None)


def write(session: Session, log: Log, entry: LogEntry, campaign: str | None = None, index: int | None = None) -> None:
    """An entry that a worker numbers; `campaign` and `index` are of which manifest or plan it is."""
    session.add(_row(log, entry, campaign, index))
    session.flush()


def _row(log: Log, entry: LogEntry, campaign: str | None, index: int | None) -> LogEntryRow:
    return LogEntryRow(
        log_id=log.id,
        kind=entry.event.kind,
        campaign=campaign,
        round=index,
        content=entry.content,
        leaf=bytes(leaf_hash(entry.content)),
        at=entry.at,
    )
