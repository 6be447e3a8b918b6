"""Proofs that an entry is in a public log: C2SP `tlog-proof@v1` texts, read strictly.

The text has the entry, its index, the path to the root, and the checkpoint: a note that the log and its witnesses
signed. Reading it checks the form and the path; `LogPins` decides whose signatures count.
"""

from __future__ import annotations

from collections.abc import Sequence

from sordino_shared._records import dataclass
from sordino_shared.errors import MalformedDocument, OversizedDocument
from sordino_shared.protocol.ids import Digest
from sordino_shared.protocol.log_entries import LogEntry
from sordino_shared.protocol.log_notes import (
    Checkpoint,
    read_base64,
    read_checkpoint,
    read_digest,
    read_number,
    read_text,
    written_base64,
)
from sordino_shared.protocol.log_tree import leaf_hash, root_of_path

MAX_PROOF_BYTES = 12_288
MAX_PATH = 40
_HEADER = "c2sp.org/tlog-proof@v1"


@dataclass(frozen=True)
class LogProof:
    """An entry, its index, the hashes from its leaf's sibling up to the root's child, and the checkpoint."""

    entry: LogEntry
    index: int
    path: tuple[Digest, ...]
    checkpoint: Checkpoint

    @classmethod
    def read(cls, content: bytes) -> LogProof:
        """The proof of these bytes; raises `OversizedDocument`, and `MalformedDocument`, also for a wrong path."""
        if len(content) > MAX_PROOF_BYTES:
            raise OversizedDocument(len(content), MAX_PROOF_BYTES)
        head, _, note = read_text(content).partition("\n\n")
        lines = head.split("\n")
        if len(lines) < 3 or lines[0] != _HEADER or not lines[1].startswith("extra "):
            raise MalformedDocument("a proof begins with its name, the entry as `extra`, and the index")
        if not lines[2].startswith("index ") or len(lines) - 3 > MAX_PATH:
            raise MalformedDocument(f"a proof has an index and at most {MAX_PATH} hashes")
        extra = read_base64(lines[1].removeprefix("extra "))
        index = read_number(lines[2].removeprefix("index "))
        path = tuple(read_digest(line) for line in lines[3:])
        checkpoint = read_checkpoint(note)
        if root_of_path(index, checkpoint.size, leaf_hash(extra), path) != checkpoint.root:
            raise MalformedDocument("the path of the proof does not lead to the checkpoint's root")
        return cls(LogEntry.read(extra), index, path, checkpoint)


def proof_text(entry: bytes, index: int, path: Sequence[bytes], note: str) -> str:
    """The `tlog-proof@v1` of an entry: its index, the path to the root, and the note of the checkpoint."""
    lines = [_HEADER, f"extra {written_base64(entry)}", f"index {index}", *map(written_base64, path)]
    return "\n".join(lines) + f"\n\n{note}"
