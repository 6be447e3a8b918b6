"""The keys of the log: a seed of 32 bytes in a file that its owner alone reads, and what it signs."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING

from sordino_server.errors import ServerError
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem
from sordino_shared.protocol.log_keys import LOG_KIND, WITNESS_KIND, NoteKey, cosigned_message, signature_line

if TYPE_CHECKING:
    # 37 ms and 3 MiB of every process that signs nothing.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_SEED_BYTES = 32
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
# The witness of a server has a key of its own, which follows from the log's.
_WITNESS_SEED = b"sordino witness key v1\0"


def make_key_file(file: Path) -> None:
    """Write a new seed for its owner alone, synced, unless the file is there; it is whole when it is there.

    Raises InvalidValue where it cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # mkstemp's file is its owner's alone.
        descriptor, unfinished = mkstemp(prefix=".sordino-", dir=file.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as opened:
                opened.write(secrets.token_bytes(_SEED_BYTES).hex() + "\n")
                opened.flush()
                os.fsync(opened.fileno())
            # Of two processes that begin at once, one makes the key.
            with suppress(FileExistsError):
                os.link(unfinished, file)
        finally:
            os.unlink(unfinished)
        # The database names the key at once: after a power failure the file has to be there too.
        _sync_folder(file)
    except OSError as error:
        raise InvalidValue(f"the key of the log cannot be written to {file}: {error.strerror}", file) from error


def read_key_file(file: Path) -> bytes:
    """The newest seed of a file; raises InvalidValue as `read_seeds` does."""
    return read_seeds(file)[-1]


def read_seeds(file: Path) -> tuple[bytes, ...]:
    """The seeds of a file, a line each, the newest last.

    Raises InvalidValue for a file that is not there, that others can read, or that holds anything else.
    """
    try:
        mode = file.stat().st_mode
        text = file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(
            f"the key of the log is not in {file}: restore the file, or set SORDINO_LOG_KEY to it", file
        ) from error
    if mode & _OTHERS:
        raise InvalidValue(f"others on this machine can read {file}, the key of the log: run chmod 600 {file}", file)
    try:
        seeds = tuple(bytes.fromhex(line.strip()) for line in text.split("\n"))
    except ValueError:
        seeds = ()
    if not seeds or any(len(seed) != _SEED_BYTES for seed in seeds) or len(set(seeds)) < len(seeds):
        raise InvalidValue(
            f"{file} has no key of a log: a line of 64 hexadecimal digits, and one more for each rotation", file
        )
    return seeds


def add_seed(file: Path) -> bytes:
    """Write a new seed behind those of a file, whole or not at all, and synced; the seed.

    Raises InvalidValue where it cannot be written.
    """
    seed = secrets.token_bytes(_SEED_BYTES)
    lines = "".join(f"{each.hex()}\n" for each in (*read_seeds(file), seed))
    try:
        _replace(file.resolve(), lines)
    except OSError as error:
        raise InvalidValue(
            f"the next key of the log cannot be written to {file}: {error.strerror}; where the file is managed "
            "elsewhere, add a line of 64 random hexadecimal digits to it there, and run this again",
            file,
        ) from error
    return seed


def _replace(file: Path, text: str) -> None:
    owner = file.stat()
    descriptor, unfinished = mkstemp(prefix=".sordino-", dir=file.parent)
    try:
        # Where root rotates the key of a server that runs as somebody else.
        os.chown(unfinished, owner.st_uid, owner.st_gid)
        with os.fdopen(descriptor, "w", encoding="ascii") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(unfinished, file)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise
    _sync_folder(file)


def _sync_folder(file: Path) -> None:
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@dataclass(frozen=True)
class NoteSigner:
    """A private key with the name and kind of its signatures."""

    name: str
    kind: int
    seed: bytes = field(repr=False)

    @classmethod
    def of_log(cls, origin: str, seed: bytes) -> NoteSigner:
        """Signs the checkpoints of a log."""
        return cls(origin, LOG_KIND, seed)

    @classmethod
    def of_witness(cls, origin: str, seed: bytes) -> NoteSigner:
        """Cosigns checkpoints of other logs: the same server, as a witness."""
        name = f"{origin.removesuffix('/log')}/witness"
        return cls(name, WITNESS_KIND, hashlib.sha256(_WITNESS_SEED + seed).digest())

    @property
    def key(self) -> NoteKey:
        """What apps and other servers pin."""
        return NoteKey(self.name, self.kind, self._private().public_key().public_bytes_raw())

    def signed(self, text: str) -> str:
        """The line of the log below a checkpoint's text."""
        return signature_line(self.key, self._private().sign(text.encode()))

    def lines(self, text: str, keys: Sequence[NoteKey]) -> str:
        """The line of this key, where it is the one that has to sign; raises InvalidValue for others."""
        return LogSigner(self.name, (self.seed,)).lines(text, keys)

    def cosigned(self, text: str, time: int) -> str:
        """The line of the witness below a checkpoint's text, at a time in Unix seconds."""
        signature = self._private().sign(cosigned_message(text, time))
        return signature_line(self.key, time.to_bytes(8, "big") + signature)

    def _private(self) -> Ed25519PrivateKey:
        try:
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        except ImportError as error:
            raise ServerError(
                Problem.UNAVAILABLE,
                "the public log and witnesses sign with cryptography, which is not installed: begin the log, sign and "
                "witness with an image that is built without `--target serve`",
            ) from error
        return Ed25519PrivateKey.from_private_bytes(self.seed)


@dataclass(frozen=True)
class LogSigner:
    """The private keys of a log, the newest last."""

    origin: str
    seeds: tuple[bytes, ...] = field(repr=False)

    @property
    def keys(self) -> tuple[NoteKey, ...]:
        """The public keys."""
        return tuple(NoteSigner.of_log(self.origin, seed).key for seed in self.seeds)

    def lines(self, text: str, keys: Sequence[NoteKey]) -> str:
        """The lines of these keys below a checkpoint's text; raises InvalidValue where one is not here."""
        own = {signer.key: signer for signer in (NoteSigner.of_log(self.origin, seed) for seed in self.seeds)}
        missing = [key for key in keys if key not in own]
        if missing:
            raise InvalidValue(
                f"the file of the log's key lacks {missing[0]}, which signs now: copy the file of SORDINO_LOG_KEY from "
                "where `sordino log rotate` ran",
                missing[0],
            )
        return "".join(own[key].signed(text) for key in keys)
