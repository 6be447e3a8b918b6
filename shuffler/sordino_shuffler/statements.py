"""The key that signs a shuffler's statements, and the statement of a round."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sordino_shared.protocol import BatchEnd, BatchStatement, CampaignId, Digest
from sordino_shared.protocol.routes import SIGNATURE_BYTES
from sordino_shuffler.errors import WrongSetting
from sordino_shuffler.mixing import Outcome
from sordino_shuffler.store import StoredRound

_KEY_BYTES = 32


class SigningKey:
    """An Ed25519 key in a file of 64 hexadecimal digits that its owner alone may read."""

    def __init__(self, secret: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret)
        self.public = self._key.public_key().public_bytes_raw()

    @classmethod
    def read(cls, path: Path) -> SigningKey:
        """The key of a file; raises WrongSetting where there is none."""
        try:
            secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
        except FileNotFoundError:
            raise WrongSetting(f"{path} is not there: `sordino-shuffler keys --create` makes it once") from None
        except (OSError, ValueError) as error:
            raise WrongSetting(f"{path} holds no signing key: {error}") from error
        if len(secret) != _KEY_BYTES:
            raise WrongSetting(f"{path} holds no signing key: it has 64 hexadecimal digits")
        return cls(secret)

    @classmethod
    def create(cls, path: Path) -> SigningKey:
        """A new key in a new file; raises WrongSetting where the file is there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        secret = os.urandom(_KEY_BYTES)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise WrongSetting(f"{path} is there: a manifest may name its key, so it is never replaced") from None
        with os.fdopen(descriptor, "wb") as file:
            file.write(secret.hex().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return cls(secret)

    def sign(self, row: StoredRound, outcome: Outcome) -> bytes:
        """The signed statement of a round, as bytes."""
        unsigned = self._statement(row, outcome, bytes(SIGNATURE_BYTES))
        return self._statement(row, outcome, self._key.sign(unsigned.signed_message)).content

    def _statement(self, row: StoredRound, outcome: Outcome, signature: bytes) -> BatchStatement:
        return BatchStatement(
            campaign=CampaignId(row.campaign),
            round=row.number,
            received=outcome.received,
            blanket=outcome.blanket,
            reports=outcome.reports,
            root=Digest(outcome.root),
            ended=BatchEnd(outcome.ended),
            key=self.public,
            signature=signature,
        )
