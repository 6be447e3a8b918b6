"""One table of the estimates of several campaigns, all of them or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy.orm import Session

from sordino_analysis.documents.result_table import ResultTable
from sordino_server.campaigns import service as campaigns
from sordino_server.errors import ServerError
from sordino_server.estimates import service as estimates
from sordino_server.exports.rows import Row, rows_of
from sordino_server.kit.clock import iso_8601
from sordino_server.models import Campaign
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, Rotating
from sordino_shared.quantities import quantity

MOST_CAMPAIGNS = 100
# About 200 MB of rows in memory.
MOST_ROWS = 200_000


def table_of(session: Session, identifiers: Sequence[str], now: int) -> ResultTable:
    """The estimates of these campaigns in this order.

    Raises `not-found` and `estimate-not-ready`, which name the campaign, and InvalidValue for one that is given twice
    or for more rows than one answer may have.
    """
    rows: list[Row] = []
    for place, identifier in enumerate(identifiers):
        if identifier in identifiers[:place]:
            raise InvalidValue(f"/query/campaign: {identifier} is given twice", identifier)
        rows += _rows(session, identifier, now)
        if len(rows) > MOST_ROWS:
            raise InvalidValue(
                f"/query/campaign: {quantity(len(rows), 'row')} of {quantity(place + 1, 'campaign')}, at most "
                f"{MOST_ROWS} are exported at once: "
                + ("ask for fewer campaigns" if place else "read GET /v1/campaigns/{campaign}/estimate instead"),
                len(rows),
            )
    return ResultTable.of_rows(rows)


def _period(campaign: Campaign, series: Rotating, number: int, content: bytes) -> Iterator[Row]:
    terms: Row = {"period": number, "period_start": iso_8601(series.period(number).start)}
    return (row | terms for row in rows_of(campaign, content))


def _rows(session: Session, identifier: str, now: int) -> list[Row]:
    try:
        campaign = campaigns.get(session, identifier)
        series = Manifest.read(campaign.manifest).assignment
        if isinstance(series, Rotating):
            stored = estimates.stored_periods(session, identifier)
            return [row for number, content in stored for row in _period(campaign, series, number, content)]
        return list(rows_of(campaign, estimates.stored_last(session, identifier, now)))
    except ServerError as error:
        raise ServerError(error.problem, f"campaign {identifier}: {error.detail}", **error.extra) from error
