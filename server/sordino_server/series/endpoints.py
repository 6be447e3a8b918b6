"""/v1/campaigns/{id}/series"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response

from sordino_server.context import Injected
from sordino_server.identifiers import MOST_PERIODS
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.series.in_process import computed
from sordino_server.series.schemas import SeriesDocument
from sordino_server.series.service import DEFAULT_SHOWN, MOST_SHOWN, SeriesQuestion

router = APIRouter(prefix="/campaigns", tags=["estimates"], route_class=OperatorRoute)


def asked_of_series(
    from_: Annotated[
        int | None,
        Query(alias="from", ge=0, lt=MOST_PERIODS, description=f"First period; default: the last {DEFAULT_SHOWN}."),
    ] = None,
    to: Annotated[
        int | None, Query(ge=0, lt=MOST_PERIODS, description="Last period; default: the last that has begun.")
    ] = None,
    window: Annotated[int, Query(ge=1, le=MOST_SHOWN, description="Periods of a window.")] = 7,
    by: Annotated[Literal["reports", "periods"], Query(description="What weighs the periods of a window.")] = "reports",
    trend: Annotated[bool, Query(description="Whether to add the smoothed line.")] = False,
) -> SeriesQuestion:
    """The question that a request's parameters ask."""
    return SeriesQuestion(first=from_, last=to, window=window, by=by, trend=trend)


SeriesQuery = Annotated[SeriesQuestion, Depends(asked_of_series)]


@router.get("/{campaign_id}/series", response_model=SeriesDocument)
async def get_series(context: Injected, _: Analyst, campaign_id: DigestPath, request: SeriesQuery) -> Response:
    """Estimates of a series: its periods, windows of them, changes between windows, a trend. Of at most 1,000 periods.

    What is said of closed periods never changes; `open` ones have the number of their reports so far.
    """
    content = await computed(context, campaign_id, request)
    return Response(content, headers={"Cache-Control": "no-store"}, media_type="application/json")
