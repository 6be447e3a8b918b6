"""Proofs that an entry is in a public log: C2SP `tlog-proof@v1` texts, read strictly, and the tree of RFC 6962.

The text has the entry, its index, the path to the root, and the checkpoint: a note that the log and its witnesses
signed. Reading it checks the form and the path; whose signatures count is the reader's to decide.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from itertools import takewhile

from sordino_shared._records import dataclass
from sordino_shared.errors import MalformedDocument, OversizedDocument
from sordino_shared.protocol.ids import Digest
from sordino_shared.protocol.log_entries import LogEntry

MAX_PROOF_BYTES = 12_288
MAX_DAYS_BYTES = 65_536
MAX_PATH = 40
MAX_SIGNATURES = 16
_HEADER = "c2sp.org/tlog-proof@v1"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_MAX_SIZE = 2**63 - 1
_DASH = "\N{EM DASH} "
_LEAST_SIGNATURE = 5


@dataclass(frozen=True)
class NoteSignature:
    """A line below a note: the name of a key, the first four bytes of its id, and what it signed with."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """`text` is what was signed: origin, size and root, a line each, and lines that are signed and not looked at."""

    text: str
    origin: str
    size: int
    root: Digest
    signatures: tuple[NoteSignature, ...]


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
        head, _, note = _text(content).partition("\n\n")
        lines = head.split("\n")
        if len(lines) < 3 or lines[0] != _HEADER or not lines[1].startswith("extra "):
            raise MalformedDocument("a proof begins with its name, the entry as `extra`, and the index")
        if not lines[2].startswith("index ") or len(lines) - 3 > MAX_PATH:
            raise MalformedDocument(f"a proof has an index and at most {MAX_PATH} hashes")
        extra = _bytes(lines[1].removeprefix("extra "))
        index = _number(lines[2].removeprefix("index "))
        path = tuple(_digest(line) for line in lines[3:])
        checkpoint = read_checkpoint(note)
        if root_of_path(index, checkpoint.size, leaf_hash(extra), path) != checkpoint.root:
            raise MalformedDocument("the path of the proof does not lead to the checkpoint's root")
        return cls(LogEntry.read(extra), index, path, checkpoint)


def read_checkpoint(note: str) -> Checkpoint:
    """The checkpoint of a signed note; raises `MalformedDocument`."""
    body, blank, signed = note.partition("\n\n")
    lines = body.split("\n")
    if not blank or len(lines) < 3 or not all(lines) or not signed.endswith("\n"):
        raise MalformedDocument("a checkpoint has origin, size and root, a blank line, and signatures, each a line")
    signatures = signed.removesuffix("\n").split("\n")
    if len(signatures) > MAX_SIGNATURES:
        raise MalformedDocument(f"a checkpoint has at most {MAX_SIGNATURES} signatures")
    if " " in lines[0]:
        raise MalformedDocument("the origin of a checkpoint has no blank")
    return Checkpoint(
        text=body + "\n",
        origin=lines[0],
        size=_number(lines[1]),
        root=_digest(lines[2]),
        signatures=tuple(map(_signature, signatures)),
    )


def leaf_hash(entry: bytes) -> Digest:
    """SHA-256(0 ‖ entry), RFC 6962 section 2.1."""
    return Digest(hashlib.sha256(b"\x00" + entry).digest())


def node_hash(left: bytes, right: bytes) -> Digest:
    """SHA-256(1 ‖ left ‖ right)."""
    return Digest(hashlib.sha256(b"\x01" + left + right).digest())


def root_of_path(index: int, size: int, leaf: Digest, path: tuple[Digest, ...]) -> Digest | None:
    """The root that a path leads to from leaf `index` of `size`; None for a path of another length.

    RFC 9162, section 2.1.3.2.
    """
    if index >= size:
        return None
    place, last, found = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            return None
        if place & 1 or place == last:
            found = node_hash(sibling, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, sibling)
        place, last = place >> 1, last >> 1
    return found if last == 0 else None


def is_consistent(first: tuple[int, Digest], second: tuple[int, Digest], path: tuple[Digest, ...]) -> bool:
    """Whether a tree (size, root) is the beginning of a later one; RFC 9162, section 2.1.4.2."""
    (size, root), (later_size, later_root) = first, second
    if size > later_size or size == 0:
        return False
    if size == later_size:
        return root == later_root and not path
    whole = size & (size - 1) == 0
    hashes = [root, *path] if whole else list(path)
    if not hashes:
        return False
    place, last = size - 1, later_size - 1
    trailing = len(list(takewhile(lambda bit: place >> bit & 1, range(64))))
    place, last = place >> trailing, last >> trailing
    old = new = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and old == root and new == later_root


def _text(content: bytes) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedDocument("a proof is text in UTF-8") from error
    if any(not (" " <= letter <= "~" or letter == "\n") for letter in text.replace(_DASH, "")):
        raise MalformedDocument("a proof has characters of ASCII, line feeds, and dashes before signatures")
    return text


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text) or int(text) > _MAX_SIZE:
        raise MalformedDocument("numbers of a proof are decimal, below 2^63, without leading zeros")
    return int(text)


def _bytes(text: str) -> bytes:
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedDocument("bytes of a proof are in base64") from error
    if base64.b64encode(found).decode() != text:
        raise MalformedDocument("base64 has one spelling")
    return found


def _digest(text: str) -> Digest:
    found = _bytes(text)
    if len(found) != Digest.LENGTH:
        raise MalformedDocument(f"a hash has {Digest.LENGTH} bytes, got {len(found)}")
    return Digest(found)


def _signature(line: str) -> NoteSignature:
    name, blank, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not name or not blank or "+" in name:
        raise MalformedDocument("a signature is a dash, a name and base64")
    content = _bytes(encoded)
    if len(content) < _LEAST_SIGNATURE:
        raise MalformedDocument("a signature is shorter than its key's id")
    return NoteSignature(name, content[:4], content[4:])
