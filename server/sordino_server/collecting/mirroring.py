"""A collector's copy of a campaign follows what its home decided; everything that is fetched is checked as devices do.

Nothing goes back: a round that was closed here stays closed, also where the home still has it open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_server import rounds
from sordino_server.campaigns import finding
from sordino_server.collecting.home import Home
from sordino_server.collecting.schemas import Mirror, MirroredRound
from sordino_server.kit.db import Database
from sordino_server.kit.insert_if_absent import insert_if_absent
from sordino_server.models import Campaign, ClosingRule, PlanPart, ProtocolPlanContent, Round
from sordino_server.rounds import round_lifecycle
from sordino_server.rounds.sealing import NextRound, check_next_round, sealed_round
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignId, CampaignState, DevicePart, Digest, Manifest, RoundState, check_built

_ENDED = {CampaignState.CLOSED, CampaignState.CANCELLED}
_AFTER_OPEN = frozenset(RoundState) - {RoundState.PENDING, RoundState.OPEN}


@dataclass(frozen=True, eq=False, kw_only=True)
class Fetched:
    """What the home decided, with the documents that this collector does not have yet, all of them checked."""

    mirror: Mirror
    manifest: Manifest
    place: int
    parts: tuple[DevicePart | AnalystPart, ...]
    protocol: bytes | None


def fetch(database: Database, home: Home, key: str, source: str) -> Fetched:
    """What changed at the home; raises HomeUnreachable, HomeRefused, or InvalidValue for what may not be mirrored."""
    mirror = home.mirror(key)
    if mirror.source != source:
        raise InvalidValue(
            f"the key is of source {mirror.source}, and this server collects as {source}: set SORDINO_SOURCE, or use "
            "another key",
            mirror.source,
        )
    # Before it is part of a path: a home that answers with `../` would choose what this collector asks for.
    campaign = CampaignId.parse(mirror.campaign)
    with database.read("read mirrored campaign") as session:
        held = session.get(Campaign, str(campaign))
        known = {row.index for row in rounds.of_campaign(session, str(campaign))}
    content = held.manifest if held else home.document(f"/v1/campaigns/{campaign}", Manifest.limit, campaign)
    manifest = Manifest.read(content, campaign)
    check_built(manifest)
    names = [server.name for server in manifest.servers]
    if source not in names[1:]:
        raise InvalidValue(f"the manifest of campaign {mirror.campaign} names no collector {source}", names)
    parts: list[DevicePart | AnalystPart] = []
    for each in mirror.rounds:
        if each.index not in known:
            parts += _sealed_parts(home, manifest, each)
    return Fetched(
        mirror=mirror,
        manifest=manifest,
        place=names.index(source),
        parts=tuple(parts),
        protocol=_protocol_plan(database, home, manifest),
    )


def _protocol_plan(database: Database, home: Home, manifest: Manifest) -> bytes | None:
    """The protocol plan that the manifest names, unless it is here: no round needs it, but auditors do."""
    if manifest.protocol is None:
        return None
    digest = str(manifest.protocol)
    with database.read("is the protocol plan here") as session:
        if session.get(ProtocolPlanContent, digest) is not None:
            return None
    return home.document(f"/v1/protocol-plans/{digest}", AnalystPart.limit, manifest.protocol)


def _sealed_parts(home: Home, manifest: Manifest, sealed: MirroredRound) -> tuple[DevicePart, AnalystPart]:
    """The two parts of a round's plan; raises unless devices would accept them for this round."""
    device, analyst = Digest.parse(sealed.device_digest), Digest.parse(sealed.analyst_digest)
    following = NextRound(
        DevicePart.read(home.document(f"/v1/plans/{device}", DevicePart.limit, device), device),
        AnalystPart.read(home.document(f"/v1/plans/{analyst}", AnalystPart.limit, analyst), analyst),
    )
    check_next_round(manifest, sealed.index, following)
    plan = manifest.rounds[sealed.index].plan
    if plan is not None and (plan.device, plan.analyst) != (device, analyst):
        raise InvalidValue(f"the home has another plan for round {sealed.index} than the manifest", sealed.index)
    return following.device, following.analyst


def apply(database: Database, session: Session, fetched: Fetched, now: int) -> None:
    """Bring this collector's rows to what the home decided, in the caller's transaction."""
    campaign = _campaign(session, fetched, now)
    for part in fetched.parts:
        insert_if_absent(session, PlanPart.of(part, now))
    if fetched.protocol is not None:
        digest = str(fetched.manifest.protocol)
        insert_if_absent(session, ProtocolPlanContent(digest=digest, content=fetched.protocol, created_at=now))
    session.flush()
    if campaign.state == CampaignState.READY and fetched.mirror.state != CampaignState.READY:
        first = CampaignState.OPEN if fetched.mirror.state != CampaignState.CANCELLED else CampaignState.CANCELLED
        round_lifecycle.change_campaign(session, campaign, first, now)
    for each in sorted(fetched.mirror.rounds, key=lambda mirrored: mirrored.index):
        _follow(database, session, fetched, each, now)
    if campaign.state == CampaignState.OPEN and fetched.mirror.state in _ENDED:
        round_lifecycle.end_campaign(database, session, campaign, fetched.mirror.state, now)


def _campaign(session: Session, fetched: Fetched, now: int) -> Campaign:
    row = Campaign.of(fetched.manifest, now, needs_token=False, public=False, question=None)
    insert_if_absent(session, row)
    session.flush()
    campaign = round_lifecycle.lock_campaign(session, row.id)
    campaign.mirrored_at = now
    for each in fetched.mirror.signatures:
        finding.keep_signature(session, row.id, each, now)
    return campaign


def _follow(database: Database, session: Session, fetched: Fetched, there: MirroredRound, now: int) -> None:
    """One round: made here when its plan is sealed there, and then step by step to the state that it has there."""
    campaign = fetched.mirror.campaign
    row = rounds.find(session, campaign, there.index)
    if row is None:
        row = sealed_round(fetched.manifest, there.index, there.device_digest, there.analyst_digest, now, fetched.place)
        session.add(row)
        session.flush()
    if there.state == RoundState.CANCELLED:
        _change(row, RoundState.CANCELLED, lambda: rounds.cancel_round(database, session, campaign, there.index, now))
        return
    if row.state == RoundState.PENDING and there.state != RoundState.PENDING:
        rounds.open_round(database, session, campaign, there.index, there.opened_at or now)
        _add_rule(session, campaign, there)
    if row.state == RoundState.OPEN and there.state in _AFTER_OPEN:
        rounds.close_round(database, session, campaign, there.index, now)
    if row.state == RoundState.CLOSED and there.state == RoundState.ESTIMATED:
        round_lifecycle.end_sent_round(database, session, campaign, there.index)


def _change(row: Round, wanted: RoundState, change: Callable[[], object]) -> None:
    if row.state not in (wanted, RoundState.ESTIMATED):
        change()


def _add_rule(session: Session, campaign: str, there: MirroredRound) -> None:
    """The home's own end of the round by time, which holds here also while the home is down."""
    if there.accept_until is None or there.opened_at is None:
        return
    after_s = there.accept_until - there.opened_at
    session.add(ClosingRule(campaign_id=campaign, index=there.index, after_reports=None, after_s=after_s))
