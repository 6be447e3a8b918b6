"""/v1/campaigns/{id}/series"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from sordino_server.context import Injected
from sordino_server.estimates.schemas import schema_of
from sordino_server.estimates.views import CSV_RESPONSES, NOT_STORED, Form, as_asked
from sordino_server.identifiers import MOST_PERIODS
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.series.in_process import computed
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


@router.get("/{campaign_id}/series", response_model=schema_of("series"), responses=CSV_RESPONSES)
async def get_series(
    context: Injected, _: Analyst, request: Request, campaign_id: DigestPath, question: SeriesQuery, form: Form = None
) -> Response:
    """Estimates of a series: its periods, windows of them, changes between windows, a trend; a table with `format=csv`.

    Of at most 1,000 periods.
    What is said of closed periods never changes; `open` ones have the number of their reports so far.
    """
    return as_asked(request, await computed(context, campaign_id, question), form, NOT_STORED)
