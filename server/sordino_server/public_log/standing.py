"""How the log stands: its entries in pages, its witnesses with their last cosignature, and the logs witnessed here."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.kit.log_settings import PublicLogSettings
from sordino_server.kit.pagination import Page, Position
from sordino_server.models import Log, LogCheckpoint, LogCosignature, LogEntryRow
from sordino_server.public_log import repository, rotation
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


@dataclass(frozen=True, kw_only=True)
class LogStanding:
    """A log with its key, its newest checkpoint, and each witness's line below its largest one.

    `ending` are the keys before that sign still, each with the Unix second from which it does no more.
    """

    log: Log
    key: NoteKey
    ending: Sequence[tuple[NoteKey, int]]
    newest: LogCheckpoint | None
    lines: Mapping[str, LogCosignature]

    @classmethod
    def of(cls, session: Session, log: Log, now: int) -> LogStanding:
        """How the log stands at `now`."""
        ending, key = rotation.keys_and_ends(session, log, now)
        return cls(
            log=log,
            key=key,
            ending=ending,
            newest=repository.newest_checkpoint(session, log),
            lines=repository.last_lines(session, log),
        )

    @property
    def size(self) -> int:
        """Entries of the newest checkpoint."""
        return 0 if self.newest is None else self.newest.size

    def document(self) -> LogDocument:
        """The log's verifier keys and its newest checkpoint."""
        log, newest = self.log, self.newest
        return LogDocument(
            origin=log.origin,
            key=str(self.key),
            keys=[*(str(key) for key, _ in self.ending), str(self.key)],
            size=self.size,
            root=None if newest is None else newest.root.hex(),
            at=None if newest is None else newest.at,
            witnesses=sorted(name for name, line in self.lines.items() if line.size == self.size),
            ahead=log.ahead,
        )

    def witnesses(self, settings: PublicLogSettings) -> list[WitnessDocument]:
        """Each witness of the settings, and then those that cosigned before."""
        asked = [each.key.name for each in settings.witnesses_asked]
        names = [*asked, *sorted(set(self.lines) - set(asked))]
        return [self._witness(name, name in asked, self.lines.get(name)) for name in names]

    def _witness(self, name: str, asked: bool, line: LogCosignature | None) -> WitnessDocument:
        size, at = (0, None) if line is None else (line.size, cosigned_at(line.line))
        return WitnessDocument(name=name, asked=asked, size=size, missing=self.size - size, cosigned_at=at)


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


def vouching(session: Session, standing: LogStanding | None, settings: PublicLogSettings) -> LogWitnesses:
    """Who vouches for whom; a server without a log has no witnesses."""
    return LogWitnesses(
        quorum=settings.quorum_of_witnesses,
        waiting=0 if standing is None else repository.count_waiting(session, standing.log),
        witnesses=[] if standing is None else standing.witnesses(settings),
        witnessed=[_witnessed(session, each) for each in settings.logs_witnessed],
    )


def cosigned_at(line: str) -> int:
    """The time in a witness's line, in Unix seconds."""
    return int.from_bytes(base64.b64decode(line.split(" ")[-1])[_TIME], "big")


def _witnessed(session: Session, key: NoteKey) -> WitnessedLogDocument:
    last = repository.last_witnessed(session, key.name)
    if last is None:
        return WitnessedLogDocument(origin=key.name, size=0, root=None, cosigned_at=None)
    return WitnessedLogDocument(origin=key.name, size=last.size, root=last.root.hex(), cosigned_at=last.at)
