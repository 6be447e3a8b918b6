"""What a collector mirrors, as JSON."""

from __future__ import annotations

from pydantic import BaseModel, Field

from sordino_server.campaigns.schemas import SignatureOrder
from sordino_shared.protocol import CampaignState, RoundState


class MirroredRound(BaseModel):
    """A round with a sealed plan, at the home."""

    index: int
    state: RoundState
    device_digest: str
    analyst_digest: str
    opened_at: int | None
    accept_until: int | None = Field(description="No report counts from this time on; null: not known.")
    sums: str | None = Field(description="SHA-256 of the aggregate document of the source that counts; null: none.")


class Mirror(BaseModel):
    """What the home decided for a campaign so far, for one of its sources."""

    campaign: str
    source: str
    state: CampaignState
    rounds: list[MirroredRound]
    signatures: list[SignatureOrder] = Field(description="Operators' signatures of the manifest.")
