"""Where a simulation keeps its files, and how it leaves: the folder goes and processes end, whatever happens."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from sordino_shared.errors import SordinoError


class NotWritable(SordinoError):
    """`path` cannot be written."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} cannot be written: {reason}; name another file with --chart")
        self.path = path


@contextmanager
def working_folder(keep: bool) -> Iterator[Path]:
    """A new folder for database, log and ledgers, removed at the end unless `keep`.

    While it is used SIGTERM ends the process like Ctrl-C does, so that every `finally` on the way runs.
    """
    folder = Path(tempfile.mkdtemp(prefix="sordino-"))
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield folder
    finally:
        signal.signal(signal.SIGTERM, before)
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def check_writable(path: Path) -> None:
    """Raise `NotWritable` before any work is done for a file that could not be written afterwards."""
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise NotWritable(path, error.strerror or str(error)) from error


def _leave(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
