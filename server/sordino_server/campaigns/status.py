"""What operators see of campaigns: their states with everything that was counted."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from sordino_analysis.kinds.registry import kind_named
from sordino_server import rounds
from sordino_server.aggregates import counts_by_arm, counts_by_source
from sordino_server.campaigns.round_status import RoundStatus
from sordino_server.campaigns.schemas import (
    SHOWN_PERIODS,
    CampaignStatus,
    CollectorGuarantee,
    SeriesStatus,
)
from sordino_server.models import Batch, BatchState, Campaign, ClosingRule, Round, SeriesRow
from sordino_server.reports import refusals
from sordino_server.rounds.periods import missing_batch, pauses
from sordino_server.shuffled.repository import of_rounds as batches_of
from sordino_server.shuffled.schemas import BatchStatus
from sordino_server.sources import service as sources
from sordino_server.sources.schemas import RoundSources
from sordino_shared.protocol import CampaignState, Manifest, RoundState
from sordino_shared.protocol.routes import ShuffledRoute


def status_of(session: Session, campaign: Campaign, now: int) -> CampaignStatus:
    """The campaign with its rounds, their counts and closing rules, and refusals by reason."""
    return statuses_of(session, [campaign], now)[0]


def statuses_of(session: Session, campaigns: Sequence[Campaign], now: int) -> list[CampaignStatus]:
    """The same of many campaigns, with as many statements as for one."""
    ids = [row.id for row in campaigns]
    series, refused = rounds.series_of(session, ids), refusals(session, ids)
    known = rounds.newest_of(session, ids, SHOWN_PERIODS)
    numbers = [row.id for found in known.values() for row, _ in found]
    counts = counts_by_source(session, numbers)
    with_arms = {row.id: row.campaign_id for found in known.values() for row, _ in found if row.arms}
    arms: dict[str, dict[int, int]] = {key: {} for key in ids} | {
        with_arms[number]: found for number, found in counts_by_arm(session, with_arms).items()
    }
    elsewhere = sources.of_rounds(session, numbers, counts, now)
    shuffled = [row.id for found in known.values() for row, _ in found if row.shuffled]
    batches = batches_of(session, shuffled) if shuffled else {}
    return [
        CampaignStatus.with_counts(
            campaign,
            [
                _round(campaign, row, rule, sum(counts[row.id].values()), elsewhere[row.id], batches.get(row.id))
                for row, rule in known[campaign.id]
            ],
            refused[campaign.id],
            _series(session, campaign, *series[campaign.id], now, any_round=bool(known[campaign.id]))
            if campaign.id in series
            else None,
            arms[campaign.id],
        )
        for campaign in campaigns
    ]


def _series(
    session: Session, campaign: Campaign, row: SeriesRow, paused: bool, now: int, *, any_round: bool
) -> SeriesStatus:
    shown, manifest = SeriesStatus.of(row, paused, now), Manifest.read(campaign.manifest)
    if isinstance(manifest.route, ShuffledRoute):
        shown.collector = CollectorGuarantee.of(manifest.route, row.answers_max)
        closed = campaign.state == CampaignState.CLOSED
        awaited = (closed or campaign.state == CampaignState.OPEN) and not any_round
        breaks = pauses(session, campaign.id) if awaited else ()
        if awaited and missing_batch(manifest, row, campaign.opened_at, now, breaks, closed=closed):
            shown.waiting_for.append(manifest.route.shuffler.name)
    return shown


def _round(
    campaign: Campaign, row: Round, rule: ClosingRule | None, reports: int, elsewhere: RoundSources, batch: Batch | None
) -> RoundStatus:
    # A collector estimates nothing: it knows no kind.
    searched = campaign.kind is not None and kind_named(campaign.kind).reads_reports
    if not row.shuffled:
        return RoundStatus.of(row, reports, elsewhere, rule, searched=searched)
    shown = BatchStatus.of(Manifest.read(campaign.manifest), row, batch)
    if row.state == RoundState.CLOSED and shown.state is BatchState.RECEIVING:
        elsewhere.waiting_for.append(shown.shuffler)
    return RoundStatus.of(row, reports, elsewhere, rule, shown, searched=searched)
