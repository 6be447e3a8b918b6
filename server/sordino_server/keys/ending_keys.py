"""What the log says of keys that end soon."""

from __future__ import annotations

from sordino_server.keys import service
from sordino_server.kit.clock import iso_8601
from sordino_server.kit.db import Database
from sordino_server.kit.logs import logger

log = logger(__name__)


def warn_of_ending_keys(database: Database, now: int) -> None:
    """Log a line for each key of a person that ends within 30 days, and one where no admin's key is left."""
    with database.read("ending keys") as session:
        ending = [(key.id, key.name, key.expires_at or 0) for key in service.ending(session, now)]
        lacks_admin = service.lacks_admin(session, now)
    if lacks_admin:
        log.warning(
            "no key of role admin is in use, so that nobody can create keys or set caps: make one on this machine with "
            "`sordino keys create --role admin`"
        )
    for identifier, name, end in ending:
        log.warning(
            f"key {identifier} ends at {iso_8601(end)}: make a successor with `sordino keys rotate {identifier}`",
            name=name,
        )
