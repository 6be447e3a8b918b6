"""One table of the estimates of several campaigns, all of them or none, read one estimate at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path

from sqlalchemy.orm import Session

from sordino_analysis.answers.columns import Cell, ColumnType, in_order
from sordino_analysis.answers.parquet import write_parquet
from sordino_analysis.answers.table import EXPORTED, AnswerTable, wider
from sordino_server.answers.stored import read_estimate, stored_content, stored_rounds
from sordino_server.campaigns import service as campaigns
from sordino_server.errors import ServerError
from sordino_server.kit.clock import iso_8601
from sordino_server.kit.db import Database, small_cache
from sordino_server.models import Campaign
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, Rotating

MOST_CAMPAIGNS = 100


@dataclass(frozen=True)
class ExportedEstimate:
    """A stored estimate by its round, and what is known of its campaign."""

    round_id: int
    terms: dict[str, Cell]


@dataclass(frozen=True)
class Export:
    """The estimates of an export, with the columns of their table and the type of each."""

    estimates: Sequence[ExportedEstimate]
    types: dict[str, ColumnType]

    def tables(self, database: Database) -> Iterator[AnswerTable]:
        """The estimates one after the other; they never change."""
        return (_table(database, each) for each in self.estimates)

    def rows(self, database: Database) -> Iterator[tuple[Cell, ...]]:
        """All rows, with a cell for each column; no more than one estimate is in memory."""
        return chain.from_iterable(map(self._rows, self.tables(database)))

    def _rows(self, table: AnswerTable) -> Iterator[tuple[Cell, ...]]:
        return zip(*(_cells(table, name) for name in self.types), strict=True)


def _cells(table: AnswerTable, name: str) -> Iterable[Cell]:
    """The cells of a column; a list of those that a table does not have, or has as a term, would take a tenth more."""
    return table.columns[name] if name in table.columns else repeat(table.terms.get(name), len(table))


def export_of(database: Database, identifiers: Sequence[str], now: int) -> Export:
    """The estimates of these campaigns in this order.

    Raises `not-found` and `estimate-not-ready`, which name the campaign, and InvalidValue for one that is given twice.
    """
    found: list[ExportedEstimate] = []
    with database.read("export estimates") as session:
        for place, identifier in enumerate(identifiers):
            if identifier in identifiers[:place]:
                raise InvalidValue(f"/query/campaign: {identifier} is given twice", identifier)
            found += _of_campaign(session, identifier, now)
    types: dict[str, ColumnType] = dict(EXPORTED)
    for each in found:
        types = wider(types, _table(database, each).types)
    return Export(found, {name: types[name] for name in in_order(types)})


def table_of(database: Database, identifier: str, now: int) -> AnswerTable:
    """The table of one campaign, whole."""
    return AnswerTable.exported(export_of(database, [identifier], now).tables(database))


def parquet_bytes(table: AnswerTable) -> bytes:
    """The table as a Parquet file; raises SordinoError without pyarrow.

    It takes a hundred megabytes: called by the process that answers questions.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "estimates.parquet"
        write_parquet(table, path)
        return path.read_bytes()


def _table(database: Database, exported: ExportedEstimate) -> AnswerTable:
    return read_estimate(_content(database, exported.round_id)).table.with_terms(**exported.terms)


def _content(database: Database, round_id: int) -> bytes:
    with database.read("export estimate") as session, small_cache(session):
        return stored_content(session, round_id)


def _of_campaign(session: Session, identifier: str, now: int) -> Iterator[ExportedEstimate]:
    try:
        campaign = campaigns.get(session, identifier)
        series = Manifest.read(campaign.manifest).assignment
        stored = stored_rounds(session, identifier, now)
    except ServerError as error:
        raise ServerError(error.problem, f"campaign {identifier}: {error.detail}", **error.extra) from error
    origin = _origin(campaign)
    if isinstance(series, Rotating):
        for round_id, number in stored:
            period: dict[str, Cell] = {"period": number, "period_start": iso_8601(series.period(number).start)}
            yield ExportedEstimate(round_id, origin | period)
    else:
        yield ExportedEstimate(stored[-1][0], origin)


def _origin(campaign: Campaign) -> dict[str, Cell]:
    return {
        "campaign": campaign.name,
        "campaign_id": campaign.id,
        "population": campaign.population,
        "opened": None if campaign.opened_at is None else iso_8601(campaign.opened_at),
        "closed": None if campaign.closed_at is None else iso_8601(campaign.closed_at),
    }
