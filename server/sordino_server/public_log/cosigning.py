"""Asking witnesses to cosign the log's newest checkpoint (C2SP tlog-witness), and hearing whether they know more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_server.kit.insert_if_absent import insert_if_absent
from sordino_server.kit.log_settings import AskedWitness
from sordino_server.kit.outgoing import Exchanger, server_at
from sordino_server.models import Log, LogCheckpoint, LogCosignature
from sordino_server.public_log import repository, rotation, service
from sordino_server.public_log.integration import empty_checkpoint
from sordino_server.public_log.signing import LogSigner
from sordino_server.public_log.witnessing import offer_text
from sordino_shared._records import replace
from sordino_shared.errors import MalformedDocument, NoAnswer, OversizedDocument
from sordino_shared.http.exchange import HttpRequest
from sordino_shared.protocol import Problem
from sordino_shared.protocol.log_keys import NoteKey, signature_line
from sordino_shared.protocol.log_notes import read_checkpoint, read_number, read_text

_WITHIN_S = 5.0
_MOST_BYTES = 4096
_MOST_NOTE = 16 << 10
_CONFLICT, _FAILED = 409, 500


@dataclass(frozen=True)
class Unseen:
    """A witness that did not cosign, and why; a `silent` one did not say what it knows of the log."""

    witness: str
    reason: str
    silent: bool = False


Connect = Callable[[str], Exchanger]


def ask_witnesses(
    database: Database,
    witnesses: Sequence[AskedWitness],
    *,
    again: bool = False,
    signer: Callable[[Log], LogSigner] | None = None,
    connect: Connect = server_at,
) -> list[Unseen]:
    """Have each witness cosign the newest checkpoint; with `again` also those that did, to hear what they know.

    Before the first checkpoint they are offered that of no entries by the `signer`, stored nowhere. A witness that
    shows a checkpoint of more entries than this database has, signed by this log, marks the log as behind: from then
    on nothing is signed.
    """
    with database.read("what is cosigned") as session:
        log = repository.current(session)
        newest = None if log is None else repository.newest_checkpoint(session, log)
        if log is None or (newest is None and signer is None):
            return []
        done = set() if newest is None else {each.witness for each in repository.cosignatures(session, newest)}
        sizes = repository.largest_cosigned(session, log)
        keys = rotation.known_keys(session, log)
    if newest is None:
        assert signer is not None
        newest = empty_checkpoint(log, signer(log), keys[-1:])
    unseen = []
    for each in witnesses:
        if again or each.key.name not in done:
            asked = _Asked(
                database=database,
                log=log,
                checkpoint=newest,
                witness=each,
                server=connect(each.address),
                keys=keys,
                signer=signer,
            )
            found = asked.ask(sizes.get(each.key.name, 0))
            unseen += [] if found is None else [found]
    return unseen


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """One checkpoint offered to one witness."""

    database: Database
    log: Log
    checkpoint: LogCheckpoint
    witness: AskedWitness
    server: Exchanger
    keys: tuple[NoteKey, ...]
    signer: Callable[[Log], LogSigner] | None

    def ask(self, old: int) -> Unseen | None:
        """Why there is no cosignature; None where it is stored."""
        name = self.witness.key.name
        try:
            known = self._offer(old)
            if known is None:
                return None
            if known > self.checkpoint.size:
                return self._larger(name, known)
            known = self._offer(known)
        except (NoAnswer, OversizedDocument, MalformedDocument) as error:
            return Unseen(name, str(error), silent=True)
        except ServerError as error:
            return Unseen(name, error.detail, silent=True)
        if known is None:
            return None
        return Unseen(name, f"it has cosigned another tree of {known} entries: the log was forked")

    def _larger(self, name: str, claimed: int) -> Unseen:
        """A witness says that it knows more entries; it is believed once it shows that this log signed them."""
        path = f"/witness/checkpoint?origin={quote(self.log.origin, safe='')}"
        answer = self.server.exchange(HttpRequest(method="GET", path=path, limit=_MOST_NOTE, within_s=_WITHIN_S))
        content, shown = answer.content(), 0
        if answer.is_success:
            note = read_checkpoint(read_text(content))
            # A backup of before a rotation does not know the next key; the file does.
            keys = {*self.keys, *(() if self.signer is None else self.signer(self.log).keys)}
            shown = note.size if note.origin == self.log.origin and any(key.signed(note) for key in keys) else 0
        if shown > self.checkpoint.size:
            self.database.run("log is behind", partial(repository.mark_ahead, log=self.log.id, size=shown))
            return Unseen(name, f"it has a checkpoint of {shown} entries that this log signed: more than this database")
        # As one that is down: it stops no log that others cosign, and nothing of it is taken for true.
        reason = f"it says that it knows {claimed} entries, and shows no checkpoint of so many that this log signed"
        return Unseen(name, reason, silent=True)

    def _offer(self, old: int) -> int | None:
        """Store the cosignature. Where the witness builds on another size, return that size."""
        with self.database.read("proof for a witness") as session:
            path = service.consistency(session, self.log, old, self.checkpoint.size)
        content = offer_text(old, path, self.checkpoint.note).encode()
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        request = HttpRequest(
            method="POST",
            path="/witness/add-checkpoint",
            limit=_MOST_BYTES,
            within_s=_WITHIN_S,
            headers=headers,
            content=content,
        )
        answer = self.server.exchange(request)
        text = answer.content().decode("utf-8", "replace")
        if answer.status == _CONFLICT:
            return read_number(text.strip())
        if self.checkpoint.size == 0 and answer.status < _FAILED:
            # Cosigned or not, it builds on nothing.
            return None
        if not answer.is_success:
            raise ServerError(Problem.UNAVAILABLE, f"it answers {answer.status}: {text[:200]}")
        self._store(text)
        return None

    def _store(self, text: str) -> None:
        """Keep the witness's own line that holds, and no other."""
        key = self.witness.key
        note = read_checkpoint(self.checkpoint.note + text)
        own = next((each for each in note.signatures if key.cosigned_at(replace(note, signatures=(each,)))), None)
        if own is None:
            raise MalformedDocument(f"it answers with no cosignature by {key.name}: is its verifier key right?")
        row = LogCosignature(
            log_id=self.log.id,
            size=self.checkpoint.size,
            witness=key.name,
            line=signature_line(key, own.signature),
        )
        self.database.run("store cosignature", lambda session: insert_if_absent(session, row))
