"""A log as files (C2SP tlog-tiles): written to a folder, and read from one or from a server, each byte bounded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from sqlalchemy.orm import Session

from sordino_server.kit.outgoing import Exchanger, server_at
from sordino_server.public_log import repository, service
from sordino_server.public_log.tree import TILE, TileTree, folded, tile_width
from sordino_shared.errors import InvalidValue, MalformedDocument, NoAnswer, OversizedDocument
from sordino_shared.http.exchange import HttpRequest
from sordino_shared.protocol import Digest, LogEntry
from sordino_shared.protocol.log_tree import leaf_hash

CHECKPOINT = "checkpoint"
# Of our own, beside the files of tlog-tiles: a restored log goes on with the daily checkpoints that devices saw.
DAYS = "days"
MOST_CHECKPOINT = 16 << 10
_MOST_BUNDLE = TILE * (2 + LogEntry.limit)
_WITHIN_S = 30.0


class LogFiles(Protocol):
    """Where a log's files are; raises NoAnswer where none can be had, MalformedDocument where one is too large."""

    def read(self, name: str, limit: int) -> bytes: ...


@dataclass(frozen=True)
class FolderFiles:
    """Files in a folder, as `sordino log export` writes them."""

    folder: Path

    def read(self, name: str, limit: int) -> bytes:
        try:
            with (self.folder / name).open("rb") as opened:
                content = opened.read(limit + 1)
        except OSError as error:
            raise NoAnswer(f"{self.folder / name} cannot be read: {error.strerror}") from error
        if len(content) > limit:
            raise MalformedDocument(f"{self.folder / name} has more than {limit} bytes")
        return content


@dataclass(frozen=True)
class ServedFiles:
    """Files of a server, below /log."""

    address: str
    server: Exchanger

    @classmethod
    def at(cls, address: str) -> ServedFiles:
        """Those of the server at an address; raises InvalidValue."""
        return cls(address, server_at(address))

    def read(self, name: str, limit: int) -> bytes:
        path = "/v1/log/days" if name == DAYS else f"/log/{name}"
        request = HttpRequest(method="GET", path=path, limit=limit, within_s=_WITHIN_S)
        try:
            answer = self.server.exchange(request)
        except OversizedDocument as error:
            raise MalformedDocument(f"{self.address}/log/{name} has more than {limit} bytes") from error
        if not answer.is_success:
            raise NoAnswer(f"{self.address}/log/{name} answers {answer.status}")
        return answer.content()


def files_at(place: str) -> LogFiles:
    """Those of a folder, or of a server where the place begins with http."""
    if place.startswith(("http://", "https://")):
        return ServedFiles.at(place.rstrip("/").removesuffix("/log"))
    if not Path(place).is_dir():
        raise InvalidValue(f"there is no folder {place}: give one of `sordino log export`, or an address", place)
    return FolderFiles(Path(place))


def tile_name(level: int | str, index: int, width: int) -> str:
    """tile/0/x001/067, tile/entries/000.p/12."""
    digits = f"{index:03}"
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    groups = [digits[place : place + 3] for place in range(0, len(digits), 3)]
    path = "/".join([*(f"x{each}" for each in groups[:-1]), groups[-1]])
    return f"tile/{level}/{path}" + ("" if width == TILE else f".p/{width}")


def read_bundle(files: LogFiles, index: int, width: int) -> list[bytes]:
    """The contents of so many entries; raises MalformedDocument for a bundle of others."""
    rest, found = files.read(tile_name("entries", index, width), _MOST_BUNDLE), []
    while rest:
        length = int.from_bytes(rest[:2], "big")
        if len(rest) < 2 + length:
            raise MalformedDocument(f"bundle {index} of the log is cut off")
        found.append(rest[2 : 2 + length])
        rest = rest[2 + length :]
    if len(found) != width:
        raise MalformedDocument(f"bundle {index} of the log has {len(found)} entries, not {width}")
    return found


@dataclass
class KnownTree:
    """A tree whose full tiles are known by their hashes, and whose last entries by theirs: 32 bytes for 256 entries."""

    tiles: list[bytes]
    last: list[bytes]

    @property
    def size(self) -> int:
        """How many entries it has."""
        return len(self.tiles) * TILE + len(self.last)

    def add(self, leaves: Sequence[bytes]) -> None:
        """Put leaves behind the last one."""
        self.last += leaves
        while len(self.last) >= TILE:
            self.tiles.append(bytes(folded(self.last[:TILE])))
            del self.last[:TILE]

    def root(self) -> Digest:
        """The hash of all entries."""
        return TileTree(self.size, self._read).root()

    def _read(self, level: int, index: int, width: int) -> Sequence[bytes]:
        if level == 0:
            # Of full tiles the hash of level 1 is used.
            return self.last
        if level == 1:
            return self.tiles[index * TILE : index * TILE + width]
        return [folded(self._read(level - 1, index * TILE + place, TILE)) for place in range(width)]


def read_entries(files: LogFiles, tree: KnownTree, size: int) -> Iterator[list[bytes]]:
    """The entries from the tree's last full tile up to `size`, a bundle at a time, each added to the tree.

    The first bundle has the entries that stood in the last, partial tile as well: `tree` must have none of them.
    """
    assert not tree.last
    for index in range(len(tree.tiles), -(-size // TILE)):
        found = read_bundle(files, index, tile_width(size, 0, index))
        tree.add([bytes(leaf_hash(each)) for each in found])
        yield found


def export(session: Session, folder: Path) -> int:
    """Write the files of the log to a folder, the checkpoint last; the number of entries. Files there stay as they are.

    Raises `not-found` before the first checkpoint.
    """
    log = service.the_log(session)
    note = service.newest_note(session)
    newest = repository.newest_checkpoint(session, log)
    assert newest is not None
    level = 0
    while level == 0 or newest.size >> 8 * level:
        for index in range(-(-(newest.size >> 8 * level) // TILE)):
            width = tile_width(newest.size, level, index)
            _write(folder / tile_name(level, index, width), partial(service.tile, session, level, index, width))
            if level == 0:
                name = tile_name("entries", index, width)
                _write(folder / name, partial(service.bundle, session, index, width))
        level += 1
    _replace(folder / DAYS, service.days(session, 0).encode())
    _replace(folder / CHECKPOINT, note.encode())
    return newest.size


def _write(file: Path, content: Callable[[], bytes]) -> None:
    """Write what is not there yet: no tile ever changes."""
    if not file.exists():
        _replace(file, content())


def _replace(file: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}.part")
    with unfinished.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    os.replace(unfinished, file)
