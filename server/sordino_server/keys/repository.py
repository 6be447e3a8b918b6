"""Queries on the table of keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import ColumnElement, Select, literal, or_, select, text, union_all, update
from sqlalchemy.orm import Session

from sordino_server.keys.audit_subjects import PARTS, SESSIONS, SETTINGS, SubjectKey, SubjectKind
from sordino_server.kit import pagination
from sordino_server.kit.insert_if_absent import insert_if_absent
from sordino_server.kit.pagination import Page
from sordino_server.models import (
    AuditEntry,
    AuditLink,
    Campaign,
    Dataset,
    Key,
    PlanRequestRow,
    Population,
    Role,
    SeriesRow,
    Source,
    WorkloadRow,
)
from sordino_shared.protocol import Manifest

_NAMED: Mapping[SubjectKind, Select[str, str]] = {
    SubjectKind.CAMPAIGN: select(Campaign.id, Campaign.name),
    SubjectKind.POPULATION: select(Population.id, Population.name),
    SubjectKind.PLAN: select(PlanRequestRow.id, WorkloadRow.name).join(
        WorkloadRow, WorkloadRow.id == PlanRequestRow.workload_id
    ),
    SubjectKind.WORKLOAD: select(WorkloadRow.id, WorkloadRow.name),
    SubjectKind.DATASET: select(Dataset.id, Dataset.name),
    SubjectKind.KEY: select(Key.id, Key.name),
}
# So long before its end a key is named at the start of the server and counted in a metric.
WARNED_S = 30 * 86400


def add(session: Session, key: Key) -> None:
    """Insert a key."""
    session.add(key)
    session.flush()


def find(session: Session, identifier: str) -> Key | None:
    """The key of this id, revoked ones too."""
    return session.get(Key, identifier)


def locked(session: Session, identifier: str) -> Key | None:
    """The key of this id as it is now, which nobody else changes until the transaction is over."""
    query = select(Key).where(Key.id == identifier).with_for_update(key_share=True)
    return session.scalars(query.execution_options(populate_existing=True)).first()


def find_person(session: Session, person: str) -> Key | None:
    """The person of this SHA-256."""
    return session.scalars(select(Key).where(Key.person == person)).first()


def in_use(session: Session, roles: Collection[Role], now: int) -> dict[str, str]:
    """The SHA-256 of secrets by id, of the keys and people of these roles that are neither revoked nor expired."""
    query = select(Key.id, Key.secret_sha256).where(Key.role.in_(roles), *Key.in_use(now))
    return {row.id: row.secret_sha256 for row in session.execute(query)}


def has_admin(session: Session, now: int | None = None) -> bool:
    """Whether there is an admin's key in use, or where no time is given, whether there ever was one."""
    query = select(Key.id).where(Key.role == Role.ADMIN, Key.person.is_(None))
    if now is not None:
        query = query.where(*Key.in_use(now))
    return session.execute(query.limit(1)).first() is not None


def note_use(session: Session, identifier: str, now: int) -> None:
    """The key was used now."""
    session.execute(update(Key).where(Key.id == identifier).values(last_used_at=now))


def lock_admins(session: Session, now: int) -> dict[str, int | None]:
    """The ends of all admins' keys in use by id, whose rows are locked: of two who revoke each other's key one waits.

    People are not among them: their issuer says from one quarter of an hour to the next who is an admin.
    """
    admins = (Key.role == Role.ADMIN, Key.person.is_(None), *Key.in_use(now))
    query = select(Key.id, Key.expires_at).where(*admins).order_by(Key.id)
    # Not from entries of the audit log, which refer to a key.
    return {row.id: row.expires_at for row in session.execute(query.with_for_update(key_share=True))}


def has_campaign(session: Session, identifier: str) -> bool:
    """Whether there is a campaign of this id."""
    return session.get(Campaign, identifier) is not None


def is_series(session: Session, campaign: str) -> bool:
    """Whether the campaign is a series."""
    return session.get(SeriesRow, campaign) is not None


def has_tokens(session: Session, campaign: str) -> bool:
    """Whether each report of the campaign has a token."""
    return Manifest.read(session.get_one(Campaign, campaign).manifest).gate is not None


def collectors(session: Session, campaign: str) -> list[str] | None:
    """The servers that collect for this one, as the manifest names them; None where it names no servers."""
    servers = Manifest.read(session.get_one(Campaign, campaign).manifest).servers
    return [server.name for server in servers[1:]] if servers else None


def put_source(session: Session, campaign: str, name: str, max_reports: int, now: int) -> None:
    """Insert a source of a campaign, or change its limit."""
    row = Source(campaign_id=campaign, name=name, max_reports=max_reports, created_at=now)
    if not insert_if_absent(session, row)[1]:
        session.execute(update(Source).filter_by(campaign_id=campaign, name=name).values(max_reports=max_reports))


def listed(session: Session, page: Page) -> tuple[Sequence[Key], str | None]:
    """A page of keys, newest first, and the token of the next one."""
    return pagination.listed(session, select(Key), Key.created_at, Key.id, page)


def add_entry(session: Session, entry: AuditEntry) -> None:
    """Append to the audit log."""
    session.add(entry)
    session.flush()


def ending_before(session: Session, now: int, end: int) -> Sequence[Key]:
    """Keys of people that are in use, have no successor, and end before then, the next to end first."""
    of_people = (Key.role.in_([Role.ADMIN, Role.ANALYST]), Key.replaced_by.is_(None))
    query = select(Key).where(*of_people, *Key.in_use(now), Key.expires_at < end)
    return session.scalars(query.order_by(Key.expires_at)).all()


def lock_audit_log(session: Session) -> None:
    """Wait for other workers, and for those who are writing an entry: its number may be below one that is there."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("LOCK TABLE audit_log IN SHARE ROW EXCLUSIVE MODE"))


def newest_link(session: Session) -> AuditLink | None:
    """The last link of the chain."""
    return session.scalars(select(AuditLink).order_by(AuditLink.entry_id.desc()).limit(1)).first()


def unlinked_entries(session: Session, most: int) -> Sequence[AuditEntry]:
    """The first entries after the last link, at most so many."""
    newest = newest_link(session)
    after = 0 if newest is None else newest.entry_id
    query = select(AuditEntry).where(AuditEntry.id > after).order_by(AuditEntry.id).limit(most)
    return session.scalars(query).all()


def has_link(session: Session, sha256: str) -> bool:
    """Whether the chain has this hash; quick for one of the last."""
    found = select(AuditLink.entry_id).where(AuditLink.sha256 == sha256).order_by(AuditLink.entry_id.desc())
    return session.scalar(found.limit(1)) is not None


def add_link(session: Session, row: AuditLink) -> None:
    """Append to the chain."""
    session.add(row)
    session.flush()


def newest_entry(session: Session, action: str) -> AuditEntry | None:
    """The last entry of this action."""
    query = select(AuditEntry).where(AuditEntry.action == action).order_by(AuditEntry.id.desc())
    return session.scalars(query.limit(1)).first()


def of_kinds(kinds: Collection[SubjectKind]) -> ColumnElement[bool]:
    """Entries about one of these kinds, as a condition of a query."""
    parts = [part for part, kind in PARTS.items() if kind in kinds]
    found = [_below(f"/v1/{part}") for part in parts]
    if SubjectKind.SESSION in kinds:
        found.append(AuditEntry.path == SESSIONS)
    if SubjectKind.SETTING in kinds:
        found.append(AuditEntry.path.startswith(SETTINGS, autoescape=True))
    return or_(*found)


def of_subject(identifier: str) -> ColumnElement[bool]:
    """Entries about what has this id, whatever kind it is."""
    return or_(AuditEntry.path == identifier, *(_below(f"/v1/{part}/{identifier}") for part in PARTS))


def _below(path: str) -> ColumnElement[bool]:
    return or_(AuditEntry.path == path, AuditEntry.path.startswith(f"{path}/", autoescape=True))


def names_of_subjects(session: Session, wanted: Collection[SubjectKey]) -> dict[SubjectKey, str]:
    """The names of those that are there, in one statement."""
    queries = []
    for kind, named in _NAMED.items():
        ids = {identifier for of, identifier in wanted if of is kind and identifier is not None}
        column = named.selected_columns[0]
        if ids:
            queries.append(named.where(column.in_(ids)).add_columns(literal(kind.value)))
    if not queries:
        return {}
    return {(SubjectKind(kind), key): name for key, name, kind in session.execute(union_all(*queries))}


def acted(person: str) -> ColumnElement[bool]:
    """Entries of whom this names: an actor as it stands in the log, or the name of the key or person that acted.

    `server` names the server and its workers. Entries of a command on the machine have the key that it changed, which
    did nothing.
    """
    if person == "server":
        return AuditEntry.actor.in_(("server", "worker"))
    by_key = or_(
        AuditEntry.actor.is_(None), AuditEntry.actor.startswith("key:"), AuditEntry.actor.startswith("person:")
    )
    return or_(AuditEntry.actor == person, (Key.name == person) & by_key)


def last_entry(session: Session, action: str, path: str) -> AuditEntry | None:
    """The last entry of this action on this path."""
    query = select(AuditEntry).where(AuditEntry.action == action, AuditEntry.path == path)
    return session.scalars(query.order_by(AuditEntry.id.desc()).limit(1)).first()


def listed_entries(
    session: Session, size: int, before: int | None, conditions: Collection[ColumnElement[bool]]
) -> Sequence[tuple[AuditEntry, Key | None, str | None]]:
    """At most `size` entries of the audit log, newest first, with the key and the link of each; those of a number
    below `before` that meet all conditions.
    """
    query = select(AuditEntry, Key, AuditLink.sha256).outerjoin(Key, Key.id == AuditEntry.key_id)
    query = query.outerjoin(AuditLink, AuditLink.entry_id == AuditEntry.id).order_by(AuditEntry.id.desc()).limit(size)
    if before is not None:
        query = query.where(AuditEntry.id < before)
    query = query.where(*conditions)
    return [(entry, key, sha256) for entry, key, sha256 in session.execute(query)]
