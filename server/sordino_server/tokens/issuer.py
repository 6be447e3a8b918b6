"""The issuer's key of each round, derived from its seed."""

from __future__ import annotations

import os
from functools import lru_cache

from sqlalchemy.orm import Session

from sordino_server.models import IssuerSeed
from sordino_server.tokens import repository
from sordino_shared.protocol import CampaignId, Manifest
from sordino_shared.protocol.tokens import issuer_info
from sordino_shared.tokens import SEED_BYTES, IssuerKey


def new_seeds(manifest: Manifest) -> list[IssuerSeed]:
    """Seeds for all rounds of a campaign with tokens, those to come too; none for any other."""
    if manifest.gate is None:
        return []
    campaign = str(manifest.campaign)
    return [
        IssuerSeed(campaign_id=campaign, index=index, seed=os.urandom(SEED_BYTES))
        for index in range(len(manifest.rounds))
    ]


def issuer_key(session: Session, campaign: str, index: int) -> IssuerKey | None:
    """The key of a round; None where the campaign has no tokens, and once the key was deleted."""
    seed = repository.seed(session, campaign, index)
    return None if seed is None else derived_key(bytes(seed), campaign, index)


@lru_cache(maxsize=256)
def derived_key(seed: bytes, campaign: str, index: int) -> IssuerKey:
    """The key of a seed: its public half takes a millisecond."""
    return IssuerKey.derived(seed, issuer_info(CampaignId.parse(campaign), index))
