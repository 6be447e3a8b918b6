"""Keys of a public log and of its witnesses, and which checkpoints they make acceptable (C2SP notes, cosignatures)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import ClassVar

from sordino_shared._records import dataclass
from sordino_shared.ed25519 import KEY_BYTES, SIGNATURE_BYTES, is_point, verify
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.log_notes import Checkpoint, NoteSignature

LOG_KIND, WITNESS_KIND = 1, 4
MAX_WITNESSES = 8
MAX_LOG_KEYS = 4
# After a rotation the key before signs beside its successor, while apps that pin the new one ship.
KEY_OVERLAP_S = 30 * 86_400
# A witness whose clock is further ahead could vouch for a tree that is yet to come.
MOST_AHEAD_S = 86_400
_TIME_BYTES = 8
_NAME = re.compile(r"[!-*,-~]{1,200}")
_ID = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True)
class NoteKey:
    """A public key of notes: the signer's name, the kind of its signatures, and 32 bytes of Ed25519.

    Written as `telemetry.example/log+8fa3c201+AX…`: name, first four bytes of the id, base64 of kind and key.
    """

    EXAMPLE: ClassVar[str] = "telemetry.example/log+8fa3c201+AX…"

    name: str
    kind: int
    key: bytes

    @classmethod
    def parse(cls, text: str) -> NoteKey:
        """The key that is written so; raises `InvalidValue`."""
        if not isinstance(text, str):
            raise InvalidValue(f"a verifier key is text such as {cls.EXAMPLE}, got {type(text).__name__}", text)
        name, _, rest = text.partition("+")
        identifier, _, encoded = rest.partition("+")
        try:
            content = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            content = b""
        if len(content) != KEY_BYTES + 1 or not _NAME.fullmatch(name) or not _ID.fullmatch(identifier):
            raise InvalidValue(f"a verifier key is written as {cls.EXAMPLE}, got {text!r}", text)
        found = cls(name, content[0], content[1:])
        if found.kind not in (LOG_KIND, WITNESS_KIND) or not is_point(found.key):
            raise InvalidValue(f"the key of {name} is none of Ed25519 for a log or a witness", text)
        if str(found) != text:
            raise InvalidValue(f"the key of {name} has another id than {identifier}: copy it again", text)
        return found

    @property
    def id(self) -> bytes:
        """The first four bytes of SHA-256(name ‖ line feed ‖ kind ‖ key)."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.kind]) + self.key).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(bytes([self.kind]) + self.key).decode()}"

    def signed(self, checkpoint: Checkpoint) -> bool:
        """Whether a checkpoint has the signature of this log."""
        return any(
            verify(self.key, each.signature, checkpoint.text.encode())
            for each in self._own(checkpoint, SIGNATURE_BYTES)
        )

    def cosigned_at(self, checkpoint: Checkpoint) -> tuple[int, ...]:
        """When this witness cosigned a checkpoint, in Unix seconds, by each signature that holds."""
        found = []
        for each in self._own(checkpoint, _TIME_BYTES + SIGNATURE_BYTES):
            time = int.from_bytes(each.signature[:_TIME_BYTES], "big")
            if verify(self.key, each.signature[_TIME_BYTES:], cosigned_message(checkpoint.text, time)):
                found.append(time)
        return tuple(found)

    def _own(self, checkpoint: Checkpoint, length: int) -> list[NoteSignature]:
        named = [each for each in checkpoint.signatures if (each.name, each.key_id) == (self.name, self.id)]
        return [each for each in named if len(each.signature) == length]


def cosigned_message(text: str, time: int) -> bytes:
    """What a witness signs of a checkpoint's text at a time in Unix seconds."""
    return f"cosignature/v1\ntime {time}\n{text}".encode()


def signature_line(key: NoteKey, signature: bytes) -> str:
    """The line below a note; `signature` is that of kind 1, or time and signature of kind 4."""
    return f"\N{EM DASH} {key.name} {base64.b64encode(key.id + signature).decode()}\n"


class TooFewWitnesses(InvalidValue):
    """A checkpoint that the log signed and too few of the pinned witnesses have cosigned so far."""

    code = "too-few-witnesses"
    advice = "try again later: witnesses cosign a checkpoint some seconds after the log signs it"


@dataclass(frozen=True)
class Vouched:
    """Who vouched for a checkpoint: names of witnesses, and the latest time of theirs in Unix seconds, 0 for none."""

    witnesses: tuple[str, ...]
    at: int


@dataclass(frozen=True, kw_only=True)
class LogPins:
    """The log that an app pins, its witnesses, and how many of them have to vouch for a checkpoint.

    `others` are further keys of the same log, in the order of their rotation: the newest is the last.
    """

    log: NoteKey
    others: tuple[NoteKey, ...] = ()
    witnesses: tuple[NoteKey, ...] = ()
    quorum: int = 0

    def __post_init__(self) -> None:
        if any(each.kind != LOG_KIND for each in self.keys):
            raise InvalidValue(f"the key of {self.log.name} is a witness's, not a log's", self.log)
        if len(self.keys) > MAX_LOG_KEYS or len({each.key for each in self.keys}) < len(self.keys):
            raise InvalidValue(f"up to {MAX_LOG_KEYS} different keys of a log are pinned", self.keys)
        if len({each.name for each in self.keys}) > 1:
            raise InvalidValue("the pinned keys are those of one log, with one name", self.keys)
        if any(each.kind != WITNESS_KIND for each in self.witnesses):
            raise InvalidValue("the key of a witness has kind 4: its base64 begins with B", self.witnesses)
        if len(self.witnesses) > MAX_WITNESSES or len({each.key for each in self.witnesses}) < len(self.witnesses):
            raise InvalidValue(f"a log has up to {MAX_WITNESSES} different witnesses", self.witnesses)
        if type(self.quorum) is not int or not 0 <= self.quorum <= len(self.witnesses):
            raise InvalidValue(f"the quorum is 0 to {len(self.witnesses)}, the number of witnesses", self.quorum)

    @property
    def keys(self) -> tuple[NoteKey, ...]:
        """All keys of the log that are pinned, the newest last."""
        return (self.log, *self.others)

    def is_named_by(self, checkpoint: Checkpoint) -> bool:
        """Whether a checkpoint has a line of a pinned key; the signature itself is not checked."""
        lines = {(each.name, each.key_id) for each in checkpoint.signatures}
        return any((each.name, each.id) in lines for each in self.keys)

    def accept(self, checkpoint: Checkpoint, now: int) -> Vouched:
        """Who vouched for a checkpoint of the log at `now`, in Unix seconds.

        Raises `TooFewWitnesses` unless enough did, and `InvalidValue` where no pinned key signed it. A witness counts
        once, whichever of its keys signed and however often, and not by a time that is more than a day ahead.
        """
        if checkpoint.origin != self.log.name:
            raise InvalidValue(f"the checkpoint is one of {checkpoint.origin}, not of {self.log.name}", checkpoint)
        if not any(each.signed(checkpoint) for each in self.keys):
            raise InvalidValue(f"the checkpoint has no valid signature of {self.log.name}", checkpoint)
        times: dict[str, list[int]] = {}
        for each in self.witnesses:
            times.setdefault(each.name, []).extend(each.cosigned_at(checkpoint))
        usable = {name: [time for time in found if time <= now + MOST_AHEAD_S] for name, found in times.items()}
        names = tuple(name for name, found in usable.items() if found)
        if len(names) < self.quorum:
            early = sorted(name for name, found in times.items() if found and not usable[name])
            ahead = f"; the clock of {', '.join(early)} is more than a day ahead" if early else ""
            raise TooFewWitnesses(
                f"{len(names)} of its witnesses vouch for it, {self.quorum} are needed{ahead}",
                checkpoint,
            )
        return Vouched(names, max((max(found) for found in usable.values() if found), default=0))
