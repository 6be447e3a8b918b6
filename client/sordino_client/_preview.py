"""What an answer would send, for the device's owner to see before it does."""

from __future__ import annotations

from sordino_client._session import Session, VerifiedPart
from sordino_shared._records import dataclass, field
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import CampaignId, Digest

# In place of a value: the first member of each attribute.
EXAMPLE = object()


def codes_to_show(verified: VerifiedPart, session: Session, value: object, *, strict: bool) -> list[int]:
    """The members of a value, or of the example; raises what `Session.codes` does."""
    if value is EXAMPLE:
        return [0] * len(verified.part.domain.attributes)
    return session.codes(verified, value, strict=strict)


@dataclass(frozen=True, kw_only=True)
class Preview:
    """An answer to `round` of `campaign` that was not given: nothing was debited, kept or sent.

    `guarantee` is the ε that the integers of `plan` prove. An upload to `server` has `upload_bytes`, of which
    `payload_bytes` depend on the value. `example` is one draw for the value; the report would be another one. Show it
    to the owner, and neither send nor log it: it reveals as much of the value as a report does.
    """

    campaign: CampaignId
    server: str
    round: int
    plan: Digest
    guarantee: PureEpsilon
    payload_bytes: int
    upload_bytes: int
    example: bytes = field(repr=False)

    def __str__(self) -> str:
        shown = self.example.hex()
        lines = [
            f"campaign {self.campaign}, round {self.round}",
            f"plan     {self.plan}",
            f"spends   {self.guarantee}",
            f"sends    {self.upload_bytes} bytes to {self.server}, {self.payload_bytes} of them depend on the value",
            f"example  {shown[:32]}{'…' if len(shown) > 32 else ''}",
        ]
        return "\n".join(lines)
