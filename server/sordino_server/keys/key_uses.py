"""When keys were last used: one write in five minutes for each key and process, not one a request."""

from __future__ import annotations

import logging

from sordino_server.keys import repository
from sordino_server.kit.clock import ServerClock
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.models import Key

# Near enough to see which keys nobody uses; the rows of 1,000 keys in use are then three writes a second.
NOTED_EVERY_S = 300

_log = logging.getLogger(__name__)


class KeyUses:
    """Notes uses of keys in the database; for any number of threads."""

    def __init__(self, database: Database, clock: ServerClock) -> None:
        self._database = database
        self._clock = clock
        # Also of writes that failed: a database that is full or locked is tried as rarely. Only real keys come here.
        self._tried: dict[str, int] = {}

    def note(self, key: Key) -> None:
        """Note that the key is used now, where that was not noted within five minutes. It never raises."""
        now = self._clock.now()
        before = max(key.last_used_at or 0, self._tried.get(key.id, 0))
        # A clock that was ahead does not keep later uses from being noted.
        if before <= now < before + NOTED_EVERY_S:
            return
        self._tried[key.id] = now
        try:
            with self._database.write("note use of key") as session:
                repository.note_use(session, key.id, now)
        except DatabaseError as error:
            _log.warning("the use of a key was not noted: %s", error)
