"""The issuer's key of each round, derived from its seed: the public half is in the manifest, the other in no cache."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Self

from sqlalchemy.orm import Session

from sordino_server.models import IssuerSeed
from sordino_server.tokens import repository
from sordino_shared.protocol import Gate, Issuer
from sordino_shared.protocol.tokens import issuer_info
from sordino_shared.tokens import SEED_BYTES, IssuerKey


@dataclass(frozen=True)
class NewIssuer:
    """The issuer of a campaign that is being made: a seed for each round, those to come too."""

    gate: Gate
    seeds: tuple[bytes, ...]

    @classmethod
    def make(cls, gate: Gate, rounds: int) -> Self:
        """With the system's generator."""
        return cls(gate, tuple(os.urandom(SEED_BYTES) for _ in range(rounds)))

    @property
    def terms(self) -> Issuer:
        """What the manifest says; a key takes a millisecond."""
        return Issuer(self.gate, tuple(_derived(seed, index).public for index, seed in enumerate(self.seeds)))

    def rows(self, campaign: str) -> list[IssuerSeed]:
        """What the database keeps."""
        return [IssuerSeed(campaign_id=campaign, index=index, seed=seed) for index, seed in enumerate(self.seeds)]


def issuer_key(session: Session, campaign: str, index: int) -> IssuerKey | None:
    """The key of a round; None where the campaign has no tokens, and once the key was deleted."""
    seed = repository.seed(session, campaign, index)
    return None if seed is None else _derived(bytes(seed), index)


def _derived(seed: bytes, index: int) -> IssuerKey:
    return IssuerKey.derived(seed, issuer_info(index))
