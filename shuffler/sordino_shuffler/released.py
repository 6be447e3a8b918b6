"""The file of released batches: one line a round, synced before the first page of the batch leaves.

It lies outside the shuffler's folder and is never restored with it. A shuffler that was restored to a time before it
mixed a round would draw a new blanket: what two batches of the round have in common would be the devices' reports
alone. So a batch with another root than the one in this file is never sent.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from sordino_shuffler.errors import ReleasedBefore, StoreInUse, StoreOfAnotherVersion

_FIELDS = 3


class Released:
    """The file, locked for as long as it is open, so that no second shuffler releases beside this one."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it.

        Raises:
            StoreInUse: another shuffler holds the lock.
            StoreOfAnotherVersion: a line of it is not one that this program writes.
        """
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._file)
            raise StoreInUse(path) from error
        try:
            self._roots = self._read()
            _sync_folder(path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)

    def root(self, campaign: bytes, number: int) -> bytes | None:
        """The root of the batch that was released for this round; None before."""
        return self._roots.get((campaign, number))

    def claim(self, campaign: bytes, number: int, root: bytes) -> None:
        """Write down that this batch is the round's one, before a page of it leaves.

        Raises:
            ReleasedBefore: another batch is.
        """
        before = self.root(campaign, number)
        if before == root:
            return
        if before is not None:
            raise ReleasedBefore(number)
        line = f"{campaign.hex()} {number} {root.hex()}\n".encode("ascii")
        written = os.write(self._file, line)
        if written < len(line):
            # The disk is full. The next line must not continue this one.
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise OSError(errno.ENOSPC, "the line of a released batch was not written whole", str(self._path))
        os.fsync(self._file)
        self._roots[campaign, number] = root

    def _read(self) -> dict[tuple[bytes, int], bytes]:
        content = b""
        while piece := os.pread(self._file, 1 << 20, len(content)):
            content += piece
        whole, _, cut = content.rpartition(b"\n")
        if cut:
            # A line that a crash cut short was not synced, so no page of its batch has left.
            os.ftruncate(self._file, len(whole) + 1 if whole else 0)
        roots: dict[tuple[bytes, int], bytes] = {}
        for line in whole.splitlines():
            campaign, number, root = self._fields(line)
            if roots.setdefault((campaign, number), root) != root:
                raise StoreOfAnotherVersion(self._path, f"round {number} stands in it with two roots")
        return roots

    def _fields(self, line: bytes) -> tuple[bytes, int, bytes]:
        parts = line.decode("ascii", "replace").split(" ")
        try:
            campaign, number, root = parts
            fields = bytes.fromhex(campaign), int(number), bytes.fromhex(root)
        except ValueError as error:
            raise StoreOfAnotherVersion(self._path, f"the line {parts} is not one of it") from error
        if len(fields[0]) != 32 or len(fields[2]) != 32 or fields[1] < 0:
            raise StoreOfAnotherVersion(self._path, f"the line {parts} is not one of it")
        return fields


def _sync_folder(folder: Path) -> None:
    """Sync the entry of a new file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
