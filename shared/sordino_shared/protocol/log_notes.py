"""Checkpoints of public logs: C2SP signed notes, read strictly, and the words of which texts of the log are made."""

from __future__ import annotations

import base64
import binascii
import re

from sordino_shared._records import dataclass
from sordino_shared.errors import MalformedDocument
from sordino_shared.protocol.ids import Digest

MAX_SIGNATURES = 16
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_ASCII = re.compile(r"[ -~\n]*")
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

    @property
    def extensions(self) -> tuple[str, ...]:
        """The lines below the root."""
        return tuple(self.text.split("\n")[3:-1])


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
        size=read_number(lines[1]),
        root=read_digest(lines[2]),
        signatures=tuple(map(_signature, signatures)),
    )


def read_text(content: bytes) -> str:
    """ASCII, line feeds, and the dash before signatures; raises `MalformedDocument` for other bytes."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedDocument("a proof is text in UTF-8") from error
    if not _ASCII.fullmatch(text.replace(_DASH, "")):
        raise MalformedDocument("a proof has characters of ASCII, line feeds, and dashes before signatures")
    return text


def read_number(text: str) -> int:
    """A decimal number below 2⁶³ without a leading zero; raises `MalformedDocument`."""
    if not _NUMBER.fullmatch(text) or int(text) > _MAX_SIZE:
        raise MalformedDocument("numbers of a proof are decimal, below 2^63, without leading zeros")
    return int(text)


def read_base64(text: str) -> bytes:
    """The bytes of base64 in its one spelling; raises `MalformedDocument`."""
    try:
        found = binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedDocument("bytes of a proof are in base64") from error
    # The unused bits of the last character are zero.
    if binascii.b2a_base64(found, newline=False).decode() != text:
        raise MalformedDocument("base64 has one spelling")
    return found


def read_digest(text: str) -> Digest:
    """The hash of 32 bytes; raises `MalformedDocument`."""
    found = read_base64(text)
    if len(found) != Digest.LENGTH:
        raise MalformedDocument(f"a hash has {Digest.LENGTH} bytes, got {len(found)}")
    return Digest(found)


def _signature(line: str) -> NoteSignature:
    name, blank, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not name or not blank or "+" in name:
        raise MalformedDocument("a signature is a dash, a name and base64")
    content = read_base64(encoded)
    if len(content) < _LEAST_SIGNATURE:
        raise MalformedDocument("a signature is shorter than its key's id")
    return NoteSignature(name, content[:4], content[4:])


def written_base64(content: bytes) -> str:
    """The one spelling of bytes in base64."""
    return base64.b64encode(content).decode()


def checkpoint_text(origin: str, size: int, root: bytes, extensions: tuple[str, ...] = ()) -> str:
    """What a log signs: origin, size, root and extensions, a line each."""
    return "".join(f"{line}\n" for line in (origin, str(size), written_base64(root), *extensions))
