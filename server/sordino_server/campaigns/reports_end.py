"""Until when a campaign can be asked what its sums do not answer: its reports are deleted some days after its end."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.campaigns import repository
from sordino_server.campaigns.retention import days_kept
from sordino_server.config import Retention
from sordino_server.models import Campaign
from sordino_server.plans import service as plans
from sordino_shared.protocol import DevicePart, Manifest, Rotating
from sordino_shared.randomizers import Coarsened

_DAY_S = 86_400


@dataclass(frozen=True)
class ReportsEnd:
    """Reports are kept for `days` after the campaign's end, and so `until` Unix seconds where that can be told."""

    days: int
    until: int | None


def reports_end(session: Session, campaign: Campaign, setting: Retention, now: int) -> ReportsEnd | None:
    """When answers about a new campaign end; None where its sums give them, or where reports are kept without an end.

    `until` supposes that it opens `now` and closes by its rules, and is None where they name no time. Of a campaign
    that was closed it is certain.
    """
    days = days_kept(session, setting)
    if days is None or not _needs_reports(session, Manifest.read(campaign.manifest)):
        return None
    if campaign.closed_at is not None:
        return ReportsEnd(days, campaign.closed_at + days * _DAY_S)
    planned = len(Manifest.read(campaign.manifest).rounds)
    times = repository.closing_times(session, campaign.id)
    open_s = sum(times) if len(times) == planned else None
    return ReportsEnd(days, None if open_s is None else now + open_s + days * _DAY_S)


def _needs_reports(session: Session, manifest: Manifest) -> bool:
    """Whether questions on demand are counted in the reports of the last round: a series and a protocol take none."""
    if manifest.protocol is not None or isinstance(manifest.assignment, Rotating):
        return False
    references = [terms.plan for terms in manifest.rounds if terms.plan is not None]
    return any(is_counted_in_reports(plans.device_part(session, str(each.device))) for each in references)


def is_counted_in_reports(part: DevicePart) -> bool:
    """Whether questions about a plan take the reports themselves: single strings, and items that no table holds."""
    randomizer = part.randomizer
    return isinstance(randomizer, Coarsened) and (part.domain.holds_strings or not any(randomizer.table_sizes))
