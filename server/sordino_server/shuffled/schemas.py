"""Routes and batches as JSON."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, Field, computed_field

from sordino_analysis.strict_model import Listed, StrictModel
from sordino_server.kit.clock import iso_8601
from sordino_server.models import Batch, BatchState, Round
from sordino_server.shuffled.sentences import said_of
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, Rotating, RoundState
from sordino_shared.protocol.routes import MAX_FLOOR, MAX_KEYS, ShuffledRoute
from sordino_shared.protocol.series import MAX_TIME
from sordino_shared.protocol.servers import MAX_SOURCE

# Two hundred days of daily periods, or four years of weeks, in a manifest of 11 kB.
DEFAULT_KEYS = 200
_MOST_KEY_PERIODS = 1 << 20


class RouteOrder(StrictModel):
    """The shuffler between devices and this server; random reports and claims are those of the plan."""

    name: str = Field(min_length=1, max_length=MAX_SOURCE, description="Name of the shuffler.")
    urls: Listed[str] = Field(min_length=1, max_length=4, description="Addresses of the shuffler's API, for devices.")
    key: str = Field(pattern="^[0-9a-f]{64}$", description="Ed25519 key that signs the shuffler's statements.")
    floor: Annotated[int, Field(strict=True, ge=1, le=MAX_FLOOR)] = Field(
        description="With fewer reports of devices the shuffler releases nothing."
    )
    end: Annotated[int, Field(strict=True, ge=0, le=MAX_TIME)] | None = Field(
        None,
        description="When the shuffler takes the last report, in Unix seconds; left out for a series. Of an "
        "experiment it follows from its days.",
    )
    keys: Annotated[int, Field(strict=True, ge=1, le=MAX_KEYS)] | None = Field(
        None,
        description=f"Of a series: how many keys open its reports, one after the other; default: {DEFAULT_KEYS}. The "
        "last key is for all later periods.",
    )
    key_periods: Annotated[int, Field(strict=True, ge=1, le=_MOST_KEY_PERIODS)] | None = Field(
        None, description="Of a series: how many periods share one key; default: 1. A key is deleted after the last."
    )

    def spans(self, is_series: bool) -> tuple[int, ...]:
        """The first round of each key; raises InvalidValue for what only a series has, or what only one round has."""
        if not is_series:
            for name in ("keys", "key_periods"):
                if getattr(self, name) is not None:
                    raise InvalidValue(f"/route/{name}: only a series has more than one key: leave {name} out")
            if self.end is None:
                raise InvalidValue("/route/end: say when the shuffler takes the last report, in Unix seconds")
            return (0,)
        if self.end is not None:
            raise InvalidValue("/route/end: the periods of a series end by themselves: leave end out", self.end)
        each = self.key_periods or 1
        return tuple(number * each for number in range(self.keys or DEFAULT_KEYS))


class BatchStatus(BaseModel):
    """How far the batch of a round is."""

    campaign: str
    round: int
    shuffler: str = Field(description="Name of the shuffler.")
    ends_at: int = Field(description="When the shuffler takes the last report, in Unix seconds.")
    state: BatchState = Field(
        description="`receiving` pages; `stated`: all are here, to be opened; `counted`; `withheld`: the shuffler "
        "released nothing; `unreadable`: the key is lost."
    )
    next_page: int = Field(description="The page that the shuffler sends next.")
    reports: int = Field(description="Reports of the pages that are here, random ones too.")
    received: int = Field(description="Reports of devices, by the shuffler's statement.")
    blanket: int = Field(description="Random reports, by the shuffler's statement.")
    refused: int = Field(description="Reports that could not be opened, or have no valid payload.")
    message: str = Field(description="The same in a sentence: what is here, or what the round waits for.")

    @computed_field
    def ends(self) -> str:
        return iso_8601(self.ends_at)

    @classmethod
    def of(cls, manifest: Manifest, row: Round, batch: Batch | None) -> Self:
        """The status of a shuffled round; `batch` is None before its first page."""
        if batch is None:
            batch = Batch(state=BatchState.RECEIVING, pages=0, reports=0, received=0, blanket=0, refused=0)
        route = manifest.route
        assert isinstance(route, ShuffledRoute)
        ends_at = _last_report(manifest, route, row.index)
        return cls(
            campaign=row.campaign_id,
            round=row.index,
            shuffler=route.shuffler.name,
            ends_at=ends_at,
            state=BatchState(batch.state),
            next_page=batch.pages,
            reports=batch.reports,
            received=batch.received,
            blanket=batch.blanket,
            refused=batch.refused,
            message=said_of(batch, RoundState(row.state), route, ends_at),
        )


def _last_report(manifest: Manifest, route: ShuffledRoute, index: int) -> int:
    if route.end is not None:
        return route.end
    # A series ends each period at the last second whose reports count.
    assert isinstance(manifest.assignment, Rotating)
    return manifest.assignment.accepted_until(index)
