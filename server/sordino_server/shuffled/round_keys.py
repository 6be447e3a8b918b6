"""The collector's keys of shuffled campaigns: one file each, in a folder of their own, deleted when their span ends.

Once a key is deleted, sealed reports that anybody kept are noise. So the folder is backed up apart from the database,
and no longer than rounds are open.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sordino_server.errors import ServerError
from sordino_shared.protocol import Problem
from sordino_shared.sealing import make_key

if TYPE_CHECKING:
    # 37 ms and 3 MiB of every process that serves, for campaigns behind a shuffler alone.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_ROUND, _TASK = "round-{number}.key", "task.key"


@dataclass(frozen=True)
class NewKeys:
    """The private keys of a campaign that is being made, in memory: its id follows from the public ones."""

    opening: bytes
    opening_public: bytes
    task: Ed25519PrivateKey

    @classmethod
    def make(cls) -> Self:
        """With the system's generator."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(*make_key(), Ed25519PrivateKey.generate())

    @property
    def task_public(self) -> bytes:
        """32 bytes, for the manifest."""
        return self.task.public_key().public_bytes_raw()


@dataclass(frozen=True)
class RoundKeys:
    """The folder of keys."""

    folder: Path

    def keep(self, campaign: str, keys: NewKeys) -> None:
        """Write the keys of a new campaign, synced before the campaign is."""
        home = self.folder / campaign
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(home / _ROUND.format(number=0), keys.opening)
        _write(home / _TASK, keys.task.private_bytes_raw())

    def opening(self, campaign: str) -> bytes | None:
        """The key that opens the reports of the campaign's round; None where it is lost."""
        return _read(self.folder / campaign / _ROUND.format(number=0))

    def sign_task(self, campaign: str, message: bytes) -> bytes:
        """The signature of a task; raises ServerError where the key is lost."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        found = _read(self.folder / campaign / _TASK)
        if found is None:
            raise ServerError(
                Problem.INTERNAL_ERROR,
                f"the key that signs the tasks of campaign {campaign} is not in SORDINO_ROUND_KEYS: restore the folder",
            )
        return Ed25519PrivateKey.from_private_bytes(found).sign(message)

    def campaigns(self) -> list[str]:
        """Those that have a key which opens reports."""
        return [found.parent.name for found in self.folder.glob("*/" + _ROUND.format(number=0))]

    def delete_opening(self, campaign: str) -> None:
        """From now on nobody opens the campaign's sealed reports; a key that is gone is gone."""
        (self.folder / campaign / _ROUND.format(number=0)).unlink(missing_ok=True)


def _write(file: Path, secret: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        opened.write(secret.hex() + "\n")
        opened.flush()
        os.fsync(opened.fileno())


def _read(file: Path) -> bytes | None:
    try:
        return bytes.fromhex(file.read_text("ascii").strip())
    except (FileNotFoundError, ValueError):
        return None
