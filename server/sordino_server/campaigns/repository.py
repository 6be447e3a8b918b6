"""Queries on the table of campaigns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, exists, func, select, tuple_
from sqlalchemy import delete as sql_delete
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from sordino_server.campaigns.campaign_filter import CampaignFilter, CampaignSort
from sordino_server.kit.insert_if_absent import insert_if_absent
from sordino_server.kit.pagination import Page, newest_first
from sordino_server.models import (
    Base,
    Campaign,
    ClosingRule,
    ExperimentRow,
    IssuerSeed,
    Key,
    ManifestSignature,
    RefusalCount,
    Report,
    ReportChunk,
    Round,
    SeriesPause,
    SeriesRow,
    Source,
    StringSearch,
    TokenAccount,
)
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignState, RoundState

_SORTED_BY: Mapping[CampaignSort, InstrumentedAttribute[Any]] = {
    CampaignSort.OLDEST: Campaign.created_at,
    CampaignSort.NAME: Campaign.name,
    CampaignSort.POPULATION: Campaign.population,
    CampaignSort.STATE: Campaign.state,
}
# More than a person chooses among.
_MOST_NAMED = 10
_NOTHING_TO_COME = (RoundState.ESTIMATED, RoundState.CANCELLED)


def add(session: Session, campaign: Campaign, belongings: Iterable[Base]) -> bool:
    """Insert a campaign with its other rows; False where its digest is there already."""
    _, new = insert_if_absent(session, campaign)
    if new:
        session.add_all(belongings)
        session.flush()
    return new


def closing_rule(session: Session, identifier: str, index: int) -> ClosingRule | None:
    """The rule of a round of the campaign that closes by itself."""
    return session.get(ClosingRule, (identifier, index))


def closing_times(session: Session, identifier: str) -> list[int]:
    """Seconds after which rounds of a campaign close, of those whose rule has a time."""
    query = select(ClosingRule.after_s).where(ClosingRule.campaign_id == identifier, ClosingRule.after_s.is_not(None))
    return [each for each in session.scalars(query) if each is not None]


def ended_rounds(session: Session, before: int) -> Sequence[Round]:
    """Rounds that still have reports, of campaigns that ended by then and of whose rounds nothing is to come.

    A period of a series is by itself: it ended when it was closed, though the series goes on. Reports that are searched
    for strings are kept until that has ended.
    """
    other = aliased(Round)
    unfinished = exists().where(other.campaign_id == Campaign.id, other.state.not_in(_NOTHING_TO_COME))
    kept = exists().where(ReportChunk.round_id == Round.id) | exists().where(Report.round_id == Round.id)
    searched = exists().where(
        StringSearch.round_id == Round.id, StringSearch.content.is_(None), StringSearch.error.is_(None)
    )
    query = select(Round).join(Campaign, Campaign.id == Round.campaign_id)
    is_period = exists().where(SeriesRow.campaign_id == Round.campaign_id)
    period_over = is_period & Round.state.in_(_NOTHING_TO_COME) & (Round.closed_at <= before)
    over = ~is_period & (Campaign.closed_at <= before) & ~unfinished
    return session.scalars(query.where(over | period_over, kept, ~searched).order_by(Round.id)).all()


def find(session: Session, identifier: str) -> Campaign | None:
    """The campaign of this digest."""
    return session.get(Campaign, identifier)


def names_by_id(session: Session, name: str, id_prefix: str | None) -> dict[str, str]:
    """The name of each campaign of this name, and of each whose id begins like this, in hexadecimal digits."""
    meant = Campaign.name == name
    if id_prefix is not None:
        meant |= Campaign.id.startswith(id_prefix)
    query = select(Campaign.id, Campaign.name).where(meant)
    rows = session.execute(query.order_by(Campaign.created_at).limit(_MOST_NAMED))
    return {row.id: row.name for row in rows}


def delete(session: Session, campaign: Campaign) -> None:
    """Delete a campaign that took no report, and what refers to it."""
    own = (Key, RefusalCount, ManifestSignature, ClosingRule, ExperimentRow, SeriesPause, SeriesRow, Source, Round)
    for table in (*own, IssuerSeed, TokenAccount):
        session.execute(sql_delete(table).where(table.campaign_id == campaign.id))
    session.delete(campaign)
    session.flush()


def open_for(session: Session, population: str) -> Sequence[Campaign]:
    """Open campaigns for exactly this name, the last opened first; an app names its series itself."""
    query = select(Campaign).where(
        Campaign.population == population,
        Campaign.state == CampaignState.OPEN,
        ~exists().where(SeriesRow.campaign_id == Campaign.id),
    )
    return session.scalars(query.order_by(Campaign.opened_at.desc(), Campaign.id)).all()


def count_of_changes(session: Session, population: str) -> int:
    """How often a campaign for exactly this name opened, or ended after that; no such campaign is ever deleted."""
    opened, ended = func.count(Campaign.opened_at), func.count(Campaign.closed_at)
    query = select(opened, ended).where(Campaign.population == population, Campaign.opened_at.is_not(None))
    return sum(session.execute(query).one())


def signatures(session: Session, identifier: str) -> Sequence[ManifestSignature]:
    """The signatures of a manifest, by ascending keys."""
    query = select(ManifestSignature).where(ManifestSignature.campaign_id == identifier)
    return sorted(session.scalars(query), key=lambda row: row.key)


def add_signature(session: Session, signature: ManifestSignature) -> None:
    """Insert a signature unless the key has one."""
    insert_if_absent(session, signature)


def listed(session: Session, page: Page, chosen: CampaignFilter, sort: CampaignSort) -> Sequence[Campaign]:
    """A page of the campaigns that the filter chooses, sorted, and one row more.

    Raises InvalidValue where the campaign that the page before ended with was deleted.
    """
    query = select(Campaign).where(*_conditions(chosen))
    if sort is CampaignSort.NEWEST:
        return session.scalars(newest_first(query, Campaign.created_at, Campaign.id, page)).all()
    column = _SORTED_BY[sort]
    if page.after is not None:
        last = find(session, page.after.id)
        if last is None:
            raise InvalidValue("the campaign that the page before ended with was deleted; begin with the first page")
        query = query.where(tuple_(column, Campaign.id) > (getattr(last, column.key), last.id))
    return session.scalars(query.order_by(column, Campaign.id).limit(page.size + 1)).all()


def closed_before(session: Session, campaign: Campaign, most: int) -> Sequence[Campaign]:
    """The last campaigns of the same population and kind of question that closed before this one, or with it."""
    others = select(Campaign).where(
        Campaign.population == campaign.population,
        Campaign.kind == campaign.kind,
        Campaign.state == CampaignState.CLOSED,
        Campaign.closed_at <= campaign.closed_at,
        Campaign.id != campaign.id,
        Campaign.archived_at.is_(None),
    )
    return session.scalars(others.order_by(Campaign.closed_at.desc(), Campaign.id).limit(most)).all()


def names_of(session: Session, ids: Collection[str]) -> dict[str, str]:
    """The names of these campaigns, by their ids."""
    rows = session.execute(select(Campaign.id, Campaign.name).where(Campaign.id.in_(ids)))
    return {row.id: row.name for row in rows}


def counts_by_state(session: Session) -> dict[CampaignState, int]:
    """How many campaigns there are in each state, without archived ones."""
    query = select(Campaign.state, func.count()).where(Campaign.archived_at.is_(None)).group_by(Campaign.state)
    return {CampaignState(state): count for state, count in session.execute(query)}


def _conditions(chosen: CampaignFilter) -> Iterator[ColumnElement[bool]]:
    if chosen.state is not None:
        yield Campaign.state == chosen.state
    if chosen.population is not None:
        yield Campaign.population == chosen.population
    if chosen.name is not None:
        yield Campaign.name == chosen.name
    if chosen.id_prefix is not None:
        yield Campaign.id.startswith(chosen.id_prefix)
    if chosen.archived is not None:
        yield Campaign.archived_at.is_not(None) if chosen.archived else Campaign.archived_at.is_(None)
    if chosen.series is not None:
        is_series = exists().where(SeriesRow.campaign_id == Campaign.id)
        yield is_series if chosen.series else ~is_series
    if chosen.since is not None:
        yield Campaign.created_at >= chosen.since
