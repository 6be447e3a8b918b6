"""Keys that sign manifests, each named by the log: added, perhaps with an end, and withdrawn."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.models import Log
from sordino_server.public_log import repository
from sordino_server.public_log.entries import write
from sordino_shared.ed25519 import is_point
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import LogEntry
from sordino_shared.protocol.log_entries import LoggedSigner, SignerChange


@dataclass(frozen=True)
class Signer:
    """What the log says last of a key: whether it was withdrawn, and its end in Unix seconds, None for none."""

    withdrawn: bool
    expires: int | None

    def state(self, now: int) -> str:
        """active, expired or withdrawn at `now`, in Unix seconds."""
        if self.withdrawn:
            return "withdrawn"
        return "expired" if self.expires is not None and now >= self.expires else "active"


def named(session: Session, log: Log) -> dict[bytes, Signer]:
    """The keys that the log names, those that wait for a worker too, in the order in which they were named first."""
    found: dict[bytes, Signer] = {}
    for row in repository.signer_entries(session, log):
        entry = LogEntry.read(row.content)
        assert isinstance(entry.event, LoggedSigner)
        found[entry.subject] = Signer(entry.event.change is SignerChange.WITHDRAWN, entry.event.expires)
    return found


def added(session: Session, log: Log, key: bytes, expires: int | None, now: int) -> LogEntry:
    """Name a key, or give one another end. Raises InvalidValue for what is no key, and for an end that is over."""
    if not is_point(key):
        raise InvalidValue(f"{key.hex()} is no Ed25519 key: no signature of it would hold", key)
    if expires is not None and expires <= now:
        raise InvalidValue("the key's end is over already: give a later day", expires)
    return _written(session, log, LogEntry(now, key, LoggedSigner(SignerChange.ADDED, expires)))


def withdrawn(session: Session, log: Log, key: bytes, now: int) -> LogEntry:
    """End a key; raises InvalidValue for one that the log does not name, or that ended so before."""
    known = named(session, log).get(key)
    if known is None or known.withdrawn:
        raise InvalidValue(f"the log names no key {key.hex()} that could be withdrawn: see `sordino log signer list`")
    return _written(session, log, LogEntry(now, key, LoggedSigner(SignerChange.WITHDRAWN, None)))


def check_signer(session: Session, key: bytes, now: int) -> None:
    """A key signs a manifest: it is named by the log from now on, where there is one.

    Raises InvalidValue for a key that was withdrawn or has expired.
    """
    log = repository.current(session)
    if log is None:
        return
    known = named(session, log).get(key)
    if known is None:
        added(session, log, key, None, now)
    elif known.state(now) != "active":
        raise InvalidValue(
            f"the public log says that key {key.hex()} is {known.state(now)}: sign with another one, or name it again "
            "by `sordino log signer add`"
        )


def _written(session: Session, log: Log, entry: LogEntry) -> LogEntry:
    write(session, log, entry)
    return entry
