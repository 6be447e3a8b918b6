"""What `sordino serve` says at its start: defaults of before that a database keeps, and keys that end soon."""

from __future__ import annotations

from sordino_server.campaigns.retention import DEFAULT_DAYS, days_kept
from sordino_server.config import Settings
from sordino_server.keys.ending_keys import warn_of_ending_keys
from sordino_server.kit.clock import WallClock
from sordino_server.kit.db import Database
from sordino_server.kit.logs import logger
from sordino_server.populations.service import from_before_caps

log = logger(__name__)


def warn_at_start(settings: Settings, database: Database) -> None:
    """Log a line for everything that somebody should decide."""
    warn_of_kept_defaults(settings, database)
    warn_of_ending_keys(database, WallClock().now())


def warn_of_kept_defaults(settings: Settings, database: Database) -> None:
    """Log a line for each default that this database does not have, until its setting is set."""
    with database.read("kept defaults") as session:
        days = days_kept(session, settings.raw_report_retention_days)
        uncapped = from_before_caps(session)
    if days is None and settings.raw_report_retention_days is None:
        log.warning(
            "this database keeps raw reports without an end, as before there was a default: set "
            f"SORDINO_RAW_REPORT_RETENTION_DAYS to {DEFAULT_DAYS}, or to `forever`"
        )
    if uncapped:
        log.warning(
            "populations from before a cap had to be chosen have none: give each one with `sordino populations "
            "update NAME --per-period 1 --period-days 28 --lifetime 12`, or confirm that it has none with "
            "`--lifetime none`",
            populations=", ".join(uncapped),
        )
