"""The daily checkpoints of a public log with their proofs of consistency to the newest: one text, the same for all.

A request "from my last size" would tell the server when a device last came, so no device makes one. It looks for the
checkpoint that it keeps in this list.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sordino_shared._records import dataclass
from sordino_shared.errors import MalformedDocument, OversizedDocument
from sordino_shared.protocol.ids import Digest
from sordino_shared.protocol.log_notes import (
    Checkpoint,
    read_checkpoint,
    read_digest,
    read_number,
    read_text,
    written_base64,
)
from sordino_shared.protocol.log_tree import is_consistent

MAX_DAYS_BYTES = 65_536
MAX_DAYS = 32
# Of a tree of 2⁴⁰ entries.
MAX_DAY_PATH = 41
_HEADER = "sordino/log-days@v1"


@dataclass(frozen=True)
class LogDay:
    """The first checkpoint of a day, counted from 1970-01-01 in UTC, and the path from it to the newest."""

    day: int
    size: int
    root: Digest
    path: tuple[Digest, ...]


@dataclass(frozen=True)
class LogDays:
    """Days in ascending order, each proved to be a beginning of the newest checkpoint."""

    days: tuple[LogDay, ...]
    newest: Checkpoint

    @classmethod
    def read(cls, content: bytes) -> LogDays:
        """The days of these bytes; raises `OversizedDocument`, and `MalformedDocument`, also for a wrong path."""
        if len(content) > MAX_DAYS_BYTES:
            raise OversizedDocument(len(content), MAX_DAYS_BYTES)
        head, blank, note = read_text(content).partition("\n\n")
        lines = head.split("\n")
        if not blank or lines[0] != _HEADER:
            raise MalformedDocument(f"a list of days begins with {_HEADER!r}")
        newest = read_checkpoint(note)
        days = tuple(map(_day, _blocks(lines[1:])))
        if len(days) > MAX_DAYS or any(a.day >= b.day for a, b in pairwise(days)):
            raise MalformedDocument(f"a list has at most {MAX_DAYS} days, ascending")
        for each in days:
            if not is_consistent((each.size, each.root), (newest.size, newest.root), each.path):
                raise MalformedDocument(f"the checkpoint of day {each.day} is no beginning of the newest one")
        return cls(days, newest)


def days_text(days: Sequence[LogDay], note: str) -> str:
    """The text of days, which ends with the newest checkpoint's note."""
    lines = [_HEADER]
    for each in days:
        lines += [f"day {each.day} {each.size} {written_base64(each.root)}", *map(written_base64, each.path)]
    return "\n".join(lines) + f"\n\n{note}"


def _blocks(lines: Sequence[str]) -> list[list[str]]:
    found: list[list[str]] = []
    for line in lines:
        if line.startswith("day "):
            found.append([])
        elif not found:
            raise MalformedDocument("the first line of a day is `day`, its number, size and root")
        found[-1].append(line)
    return found


def _day(lines: Sequence[str]) -> LogDay:
    words = lines[0].split(" ")
    if len(words) != 4 or len(lines) - 1 > MAX_DAY_PATH:
        raise MalformedDocument(f"a day has its number, size and root, and at most {MAX_DAY_PATH} hashes")
    _, day, size, root = words
    return LogDay(read_number(day), read_number(size), read_digest(root), tuple(map(read_digest, lines[1:])))
