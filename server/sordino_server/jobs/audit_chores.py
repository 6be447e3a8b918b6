"""What workers do for the audit log and keys: the chain of hashes, the time that reports are kept, keys that end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sordino_server.campaigns import retention
from sordino_server.config import Retention
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.kit.logs import logger

log = logger(__name__)

_DAY_S = 86400


@dataclass
class AuditChores:
    """Done every ten minutes; keys that end soon are logged once a day, a day after `sordino serve` did so first."""

    _retention_noted: bool = False
    _warn_at: int | None = None

    def run(self, database: Database, kept: Retention, now: int, beat: Callable[[], None]) -> None:
        """Do what is due; a database that fails is tried again the next time."""
        # Imported here: most of the worker's work needs no keys.
        from sordino_server.keys import audit_chain
        from sordino_server.keys.ending_keys import warn_of_ending_keys

        try:
            if not self._retention_noted:
                retention.record_change(database, kept, now)
                self._retention_noted = True
            while audit_chain.extend(database):
                beat()
            if self._warn_at is not None and now >= self._warn_at:
                warn_of_ending_keys(database, now)
            if self._warn_at is None or now >= self._warn_at:
                self._warn_at = now + _DAY_S
        except DatabaseError as error:
            log.error("the audit log could not be chained", problem=str(error))
