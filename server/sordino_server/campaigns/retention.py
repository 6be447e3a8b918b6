"""Reports of campaigns that ended long ago are given up; their counts, aggregates and estimates stay."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server import aggregates, archives
from sordino_server.campaigns import repository
from sordino_server.config import Retention
from sordino_server.keys import service as keys
from sordino_server.kit.db import Database
from sordino_server.models import KeptDefault
from sordino_server.plans import service as plans
from sordino_shared.errors import SordinoError

_DAY_S = 86400
DEFAULT_DAYS = 30
# The name under which a migration keeps what a database did before there was a default.
RETENTION = "raw_report_retention_days"
_CHANGED = "change retention"
# Several times what a worker may take to begin.
_OVERDUE_S = 3600


class ReportsKept(SordinoError):
    """The reports of round `index` of a campaign do not add up, so that they and their archives are kept."""

    def __init__(self, campaign: str, index: int, reason: str) -> None:
        super().__init__(
            f"the reports of round {index} of campaign {campaign} are kept, and so are their archives: {reason}"
        )
        self.campaign = campaign
        self.index = index


@dataclass(frozen=True, kw_only=True)
class OldReports:
    """The reports of a round that nothing needs any more, and the size of their payloads."""

    round_id: int
    campaign: str
    index: int
    device_digest: str
    reports: int
    bytes: int


def days_kept(session: Session, setting: Retention) -> int | None:
    """Days that reports are kept after their campaign: by the setting, else as this database keeps them, else 30.

    None is without an end.
    """
    if setting is None:
        kept = session.get(KeptDefault, RETENTION)
        setting = DEFAULT_DAYS if kept is None else "forever"
    return None if setting == "forever" else setting


def record_change(database: Database, setting: Retention, now: int) -> None:
    """Note in the audit log that reports are kept for another time than the log says, or than is the default."""
    with database.write("record retention") as session:
        before = keys.last_change(session, _CHANGED) or _days(days_kept(session, None))
        after = _days(days_kept(session, setting))
        if before != after:
            keys.record(session, None, _CHANGED, "SORDINO_RAW_REPORT_RETENTION_DAYS", now, before=before, after=after)


def _days(days: int | None) -> dict[str, int | str]:
    return {"days": "forever" if days is None else days}


def record_purge(database: Database, old: OldReports, now: int) -> None:
    """Note in the audit log that the reports of a round were deleted."""
    path = f"/v1/campaigns/{old.campaign}/rounds/{old.index}/reports"
    with database.write("record purge") as session:
        keys.record(session, None, "delete reports", path, now, before={"reports": old.reports}, after={"reports": 0})


def old_reports(database: Database, days: int, now: int) -> list[OldReports]:
    """Reports of campaigns that ended `days` ago or before, every round estimated or cancelled.

    A round that failed keeps its reports, since it may be tried again, and so do the other rounds of its campaign.
    """
    with database.read("find old reports") as session:
        rows = repository.ended_rounds(session, now - days * _DAY_S)
        counts = aggregates.counts_by_round(session, [row.id for row in rows], own=True)
        return [
            OldReports(
                round_id=row.id,
                campaign=row.campaign_id,
                index=row.index,
                device_digest=row.device_digest,
                reports=counts[row.id],
                bytes=aggregates.log_bytes(session, row.id),
            )
            for row in rows
        ]


def overdue(session: Session, setting: Retention, now: int) -> int:
    """Rounds whose reports should be gone for an hour or longer; 0 where reports are kept without an end."""
    days = days_kept(session, setting)
    return 0 if days is None else len(repository.ended_rounds(session, now - days * _DAY_S - _OVERDUE_S))


def purge(database: Database, old: OldReports, now: int) -> None:
    """Delete the reports, in archives too that this database made.

    Raises `ReportsKept` where the reports do not add up, and `ArchiveKept` where an archive cannot be deleted: both are
    found before anything is deleted.
    """

    def delete_archives() -> None:
        archives.delete_archives(database, old.round_id, old.campaign, old.index, now)

    # First, since to add up the log takes longer.
    archives.check_archives(database, old.round_id, old.campaign, old.index)
    with database.read("read device part") as session:
        randomizer = plans.device_part(session, old.device_digest).randomizer
    try:
        aggregates.purge(database, old.round_id, randomizer, now, delete_archives)
    except aggregates.AggregateMismatch as error:
        raise ReportsKept(old.campaign, old.index, str(error)) from error
