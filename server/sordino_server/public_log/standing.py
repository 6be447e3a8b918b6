"""How the log stands: its entries in pages, its witnesses with their last cosignature, and the logs witnessed here."""

from __future__ import annotations

import base64

from sqlalchemy.orm import Session

from sordino_server.kit.log_settings import PublicLogSettings
from sordino_server.kit.pagination import Page, Position
from sordino_server.models import Log, LogEntryRow
from sordino_server.public_log import repository, rotation, service
from sordino_server.public_log.schemas import (
    LogDocument,
    LogEntries,
    LogEntryDocument,
    LogWitnesses,
    WitnessDocument,
    WitnessedLogDocument,
)
from sordino_server.public_log.sentences import sentence
from sordino_shared.protocol import LogEntry
from sordino_shared.protocol.log_keys import NoteKey

# In a cosignature the time stands behind the first four bytes of the key's id.
_TIME = slice(4, 12)


def document(session: Session, now: int) -> LogDocument:
    """The log's verifier keys and its newest checkpoint; raises `not-found`."""
    found = service.state(session)
    log, newest = found.log, found.checkpoint
    keys = rotation.signing_keys(session, log, now)
    return LogDocument(
        origin=log.origin,
        key=str(keys[-1]),
        keys=list(map(str, keys)),
        size=0 if newest is None else newest.size,
        root=None if newest is None else newest.root.hex(),
        at=None if newest is None else newest.at,
        witnesses=list(found.witnesses),
        ahead=log.ahead,
    )


def entries_page(session: Session, log: Log, page: Page) -> LogEntries:
    """Numbered entries, newest first."""
    before = None if page.after is None else min(int(page.after.id, 16), 2**62)
    rows = repository.numbered_before(session, log, before, page.size + 1)
    shown = [_document(each) for each in rows[: page.size]]
    further = len(rows) > page.size
    token = Position(shown[-1].at, f"{shown[-1].number:x}").token() if further else None
    return LogEntries(entries=shown, next_page_token=token)


def _document(row: LogEntryRow) -> LogEntryDocument:
    entry = LogEntry.read(row.content)
    assert row.number is not None
    return LogEntryDocument(
        number=row.number,
        kind=row.kind,
        at=row.at,
        subject=entry.subject.hex(),
        campaign=row.campaign,
        round=row.round,
        leaf=row.leaf.hex(),
        text=sentence(entry),
    )


def witnesses(session: Session, settings: PublicLogSettings) -> LogWitnesses:
    """Who vouches for whom; a server without a log has no witnesses."""
    log = repository.current(session)
    return LogWitnesses(
        quorum=settings.quorum_of_witnesses,
        waiting=0 if log is None else repository.count_waiting(session, log),
        witnesses=[] if log is None else standing_of(session, log, settings),
        witnessed=[_witnessed(session, each) for each in {key.name: key for key in settings.logs_witnessed}.values()],
    )


def standing_of(session: Session, log: Log, settings: PublicLogSettings) -> list[WitnessDocument]:
    """Each witness of the settings, and then those that cosigned before."""
    newest = repository.newest_checkpoint(session, log)
    size = 0 if newest is None else newest.size
    lines = repository.last_lines(session, log)
    asked = [each.key.name for each in settings.witnesses_asked]
    return [
        WitnessDocument(
            name=name,
            asked=name in asked,
            size=lines[name].size if name in lines else 0,
            missing=size - (lines[name].size if name in lines else 0),
            cosigned_at=cosigned_at(lines[name].line) if name in lines else None,
        )
        for name in [*asked, *sorted(set(lines) - set(asked))]
    ]


def cosigned_at(line: str) -> int:
    """The time in a witness's line, in Unix seconds."""
    return int.from_bytes(base64.b64decode(line.split(" ")[-1])[_TIME], "big")


def _witnessed(session: Session, key: NoteKey) -> WitnessedLogDocument:
    last = repository.last_witnessed(session, key.name)
    if last is None:
        return WitnessedLogDocument(origin=key.name, size=0, root=None, cosigned_at=None)
    return WitnessedLogDocument(origin=key.name, size=last.size, root=last.root.hex(), cosigned_at=last.at)
