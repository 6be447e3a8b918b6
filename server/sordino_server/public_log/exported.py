"""The folder that a worker keeps the log in as files, and what it says before the log is signed: a database that was
restored from a backup has fewer entries than the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from sordino_server.kit.db import Database
from sordino_server.models import Log
from sordino_server.public_log import files, repository, rotation
from sordino_server.public_log.files import CHECKPOINT, MOST_CHECKPOINT, FolderFiles
from sordino_server.public_log.integration import LogAhead
from sordino_server.public_log.signing import LogSigner
from sordino_server.public_log.tree import TileTree
from sordino_shared.errors import InvalidValue, MalformedDocument
from sordino_shared.protocol.log_keys import NoteKey
from sordino_shared.protocol.log_notes import Checkpoint, read_checkpoint, read_text


def compare(database: Database, folder: Path, signer: Callable[[Log], LogSigner] | None = None) -> None:
    """Raise `LogAhead` where the folder has more entries of the log than the database, which is then marked as behind.

    Raises InvalidValue for a folder of another log, and for one with other entries: the log was forked. A folder
    without a checkpoint is a new one. A backup of before a rotation does not know the next key; the `signer` does.
    """
    note = _checkpoint(folder)
    if note is None:
        return
    with database.read("compare exported log") as session:
        log = repository.current(session)
        if log is None:
            return
        keys = (*rotation.known_keys(session, log), *(() if signer is None else signer(log).keys))
        _check_origin(log, note, folder, keys)
        newest = repository.newest_checkpoint(session, log)
        size = 0 if newest is None else newest.size
        if 0 < note.size <= size and TileTree(note.size, repository.tile_reader(session, log)).root() != note.root:
            raise InvalidValue(
                f"the {note.size:,} entries of the log in {folder} are others than those of the database: the log was "
                "forked; keep both, and begin another log with `sordino log init --new`",
                folder,
            )
    if note.size > size:
        database.run("log is behind", lambda session: repository.mark_ahead(session, log.id, note.size))
        raise LogAhead(note.size, size)


def export(database: Database, folder: Path) -> int:
    """Write what is new to the folder; the number of entries. Raises InvalidValue where it cannot be written."""
    try:
        with database.read("export log") as session:
            return files.export(session, folder)
    except OSError as error:
        raise InvalidValue(f"the log cannot be written to {folder}: {error.strerror}", folder) from error


def _checkpoint(folder: Path) -> Checkpoint | None:
    if not (folder / CHECKPOINT).exists():
        return None
    try:
        return read_checkpoint(read_text(FolderFiles(folder).read(CHECKPOINT, MOST_CHECKPOINT)))
    except MalformedDocument as error:
        raise InvalidValue(f"{folder / CHECKPOINT} is no checkpoint of a log: {error}", folder) from error


def _check_origin(log: Log, note: Checkpoint, folder: Path, keys: Sequence[NoteKey]) -> None:
    if note.origin != log.origin or not any(key.signed(note) for key in keys):
        raise InvalidValue(
            f"{folder} has another log than {log.origin}, which needs a folder of its own (SORDINO_LOG_FOLDER, "
            "`sordino log export DIR`)",
            folder,
        )
