"""Share links as JSON."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, Field

from sordino_analysis.strict_model import StrictModel
from sordino_server.kit.times import Created
from sordino_server.models import ShareLink


class ShareLinkOrder(StrictModel):
    """A link to the campaign's result."""

    until: Annotated[int, Field(strict=True, ge=0, lt=2**53)] | None = Field(
        description="When the link ends, in Unix seconds; null: when it is revoked."
    )


class ShareLinkDocument(Created):
    """A link without its secret; `openings` counts how often it was opened."""

    id: int
    campaign_id: str
    created_by: str = Field(description="Name of the key or person that made it.")
    until: int | None = Field(description="When it ends; null: when it is revoked.")
    revoked_at: int | None
    openings: int

    @classmethod
    def of(cls, row: ShareLink) -> Self:
        """What is shown of a row."""
        return cls.model_validate(row, from_attributes=True)


class NewShareLink(ShareLinkDocument):
    """A link just made."""

    path: str = Field(description="The address on this server, shown only once.")


class ShareLinkList(BaseModel):
    """All links of a campaign, newest first."""

    share_links: list[ShareLinkDocument]
