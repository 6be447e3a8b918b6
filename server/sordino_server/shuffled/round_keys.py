"""The collector's keys of shuffled campaigns: one file each, in a folder of their own, deleted when their span ends.

Once a key is deleted, sealed reports that anybody kept are noise. So the folder is backed up apart from the database,
and no longer than rounds are open.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sordino_server.errors import ServerError
from sordino_shared.protocol import Problem
from sordino_shared.protocol.routes import ShuffledRoute
from sordino_shared.sealing import make_key

if TYPE_CHECKING:
    # 37 ms and 3 MiB of every process that serves, for campaigns behind a shuffler alone.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_ROUND, _TASK = "round-{number}.key", "task.key"


@dataclass(frozen=True)
class NewKeys:
    """The private keys of a campaign that is being made, in memory: its id follows from the public ones.

    `opening` has, by the first round that each is for, a private and a public key.
    """

    opening: Mapping[int, tuple[bytes, bytes]]
    task: Ed25519PrivateKey

    @classmethod
    def make(cls, spans: Iterable[int]) -> Self:
        """With the system's generator: a private and a public key from each of these rounds on."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls({first: make_key() for first in spans}, Ed25519PrivateKey.generate())

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
        for first, (secret, _) in keys.opening.items():
            _write(home / _ROUND.format(number=first), secret)
        _write(home / _TASK, keys.task.private_bytes_raw())

    def opening(self, campaign: str, first: int) -> bytes | None:
        """The key that opens reports of the campaign from round `first` on; None where it is lost."""
        return _read(self.folder / campaign / _ROUND.format(number=first))

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

    def spans(self) -> dict[str, list[int]]:
        """By campaign, the first rounds of its keys that open reports, ascending."""
        found: dict[str, list[int]] = {}
        for file in self.folder.glob("*/" + _ROUND.format(number="*")):
            number = file.stem.removeprefix("round-")
            if number.isdecimal():
                found.setdefault(file.parent.name, []).append(int(number))
        return {campaign: sorted(numbers) for campaign, numbers in found.items()}

    def delete_opening(self, campaign: str, first: int) -> None:
        """From now on nobody opens sealed reports of the key's rounds; a key that is gone is gone."""
        (self.folder / campaign / _ROUND.format(number=first)).unlink(missing_ok=True)


def first_of_span(route: ShuffledRoute, number: int) -> int:
    """The round from which on the key of round `number` is used."""
    return max(each.from_round for each in route.keys if each.from_round <= number)


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
