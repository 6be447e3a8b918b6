"""Routes and batches as JSON."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, Field

from sordino_analysis.strict_model import Listed, StrictModel
from sordino_server.models import Batch, BatchState
from sordino_shared.protocol.routes import MAX_FLOOR
from sordino_shared.protocol.series import MAX_TIME
from sordino_shared.protocol.servers import MAX_SOURCE


class RouteOrder(StrictModel):
    """The shuffler between devices and this server; random reports and claims are those of the plan."""

    name: str = Field(min_length=1, max_length=MAX_SOURCE, description="Name of the shuffler.")
    urls: Listed[str] = Field(min_length=1, max_length=4, description="Addresses of the shuffler's API, for devices.")
    key: str = Field(pattern="^[0-9a-f]{64}$", description="Ed25519 key that signs the shuffler's statements.")
    floor: Annotated[int, Field(strict=True, ge=1, le=MAX_FLOOR)] = Field(
        description="With fewer reports of devices the shuffler releases nothing."
    )
    end: Annotated[int, Field(strict=True, ge=0, le=MAX_TIME)] = Field(
        description="When the shuffler takes the last report, in Unix seconds."
    )


class BatchStatus(BaseModel):
    """How far the batch of a round is."""

    campaign: str
    round: int
    state: BatchState = Field(
        description="`receiving` pages; `stated`: all are here, to be opened; `counted`; `withheld`: the shuffler "
        "released nothing; `unreadable`: the key is lost."
    )
    next_page: int = Field(description="The page that the shuffler sends next.")
    reports: int = Field(description="Reports of the pages that are here, random ones too.")
    received: int = Field(description="Reports of devices, by the shuffler's statement.")
    blanket: int = Field(description="Random reports, by the shuffler's statement.")

    @classmethod
    def of(cls, campaign: str, index: int, row: Batch | None) -> Self:
        """What is shown of a row; a round of which nothing came has none."""
        if row is None:
            row = Batch(state=BatchState.RECEIVING, pages=0, reports=0, received=0, blanket=0)
        return cls(
            campaign=campaign,
            round=index,
            state=BatchState(row.state),
            next_page=row.pages,
            reports=row.reports,
            received=row.received,
            blanket=row.blanket,
        )
