"""Queries on populations and their ledger."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from sqlalchemy import ColumnElement, and_, exists, false, func, or_, select
from sqlalchemy.orm import Session

from sordino_server.kit import pagination
from sordino_server.kit.db import FOR_CHANGE
from sordino_server.kit.insert_if_absent import insert_if_absent
from sordino_server.kit.pagination import Page
from sordino_server.models import AskedEpsilon, Campaign, Population, SeriesRow


def add(session: Session, population: Population) -> bool:
    """Insert a population; False where there is one of its name."""
    return insert_if_absent(session, population)[1]


def add_entry(session: Session, entry: AskedEpsilon) -> None:
    """Append to the ledger."""
    session.add(entry)
    session.flush()


def find(session: Session, identifier: str) -> Population | None:
    """The population of this id."""
    return session.get(Population, identifier)


def find_for_change(session: Session, identifier: str) -> Population | None:
    """The population, locked against other changes of its caps and its ledger until the transaction ends."""
    return session.get(Population, identifier, with_for_update=FOR_CHANGE, populate_existing=True)


def names_of(session: Session, ids: Collection[str]) -> dict[str, str]:
    """The names of these populations, by their ids."""
    rows = session.execute(select(Population.id, Population.name).where(Population.id.in_(ids)))
    return {row.id: row.name for row in rows}


def names_without_caps(session: Session, until: int) -> list[str]:
    """Names of populations made until then, without a cap, whose caps were never changed."""
    uncapped = Population.period_nano.is_(None) & Population.lifetime_nano.is_(None)
    query = select(Population.name).where(uncapped, Population.version == 1, Population.created_at <= until)
    return list(session.scalars(query.order_by(Population.name)))


def asked(session: Session, identifiers: Collection[str]) -> dict[str, int]:
    """Nano-ε asked of every device of each of the populations, ever."""
    return _sums(session, identifiers, AskedEpsilon.population_id.in_(identifiers))


def asked_once_after(session: Session, after: Mapping[str, int]) -> dict[str, int]:
    """The same by campaigns without periods after the moment that `after` has for each population."""
    once = ~exists().where(SeriesRow.campaign_id == AskedEpsilon.id)
    return _sums(session, after, once & _of_each(after, lambda moment: AskedEpsilon.created_at > moment))


def series_after(session: Session, after: Mapping[str, int]) -> Sequence[tuple[str, SeriesRow]]:
    """(population, series) of series that opened, and had not ended at the moment that `after` has for each."""
    query = select(AskedEpsilon.population_id, SeriesRow).join(SeriesRow, SeriesRow.campaign_id == AskedEpsilon.id)
    query = query.join(Campaign, Campaign.id == SeriesRow.campaign_id)
    lasting = _of_each(after, lambda moment: Campaign.closed_at.is_(None) | (Campaign.closed_at > moment))
    return [(population, row) for population, row in session.execute(query.where(lasting))]


def _of_each(after: Mapping[str, int], chosen: Callable[[int], ColumnElement[bool]]) -> ColumnElement[bool]:
    """Whether an entry of the ledger is of one of the populations and chosen by its moment."""
    return or_(false(), *(and_(AskedEpsilon.population_id == name, chosen(moment)) for name, moment in after.items()))


def _sums(session: Session, identifiers: Iterable[str], chosen: ColumnElement[bool]) -> dict[str, int]:
    query = select(AskedEpsilon.population_id, func.sum(AskedEpsilon.nano)).where(chosen)
    found = {name: int(total) for name, total in session.execute(query.group_by(AskedEpsilon.population_id))}
    return {name: found.get(name, 0) for name in identifiers}


def charges(
    session: Session, identifier: str, most: int
) -> Sequence[tuple[AskedEpsilon, SeriesRow | None, int | None]]:
    """The newest entries of the ledger, oldest first, with the series that each is of and when its campaign closed."""
    query = select(AskedEpsilon, SeriesRow, Campaign.closed_at).where(AskedEpsilon.population_id == identifier)
    query = query.outerjoin(SeriesRow, SeriesRow.campaign_id == AskedEpsilon.id)
    query = query.outerjoin(Campaign, Campaign.id == AskedEpsilon.id)
    newest = query.order_by(AskedEpsilon.created_at.desc(), AskedEpsilon.id).limit(most)
    return [(entry, series, closed) for entry, series, closed in session.execute(newest)][::-1]


def listed(session: Session, page: Page) -> tuple[Sequence[Population], str | None]:
    """A page of populations, newest first, and the token of the next one."""
    return pagination.listed(session, select(Population), Population.created_at, Population.id, page)


def ledger(
    session: Session, identifier: str, page: Page
) -> tuple[Sequence[tuple[AskedEpsilon, Campaign, SeriesRow | None]], str | None]:
    """A page of a population's ledger, newest first, with campaigns and their series, and the token of the next one."""
    query = select(AskedEpsilon).where(AskedEpsilon.population_id == identifier)
    rows, token = pagination.listed(session, query, AskedEpsilon.created_at, AskedEpsilon.id, page)
    known = select(Campaign, SeriesRow).outerjoin(SeriesRow, SeriesRow.campaign_id == Campaign.id)
    found = {
        row.id: (row, series)
        for row, series in session.execute(known.where(Campaign.id.in_([each.id for each in rows])))
    }
    return [(row, *found[row.id]) for row in rows], token
