"""Keys are made, checked and revoked here, and end by themselves; only the SHA-256 of a secret is ever stored."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from sordino_server.errors import ServerError, found
from sordino_server.keys import repository
from sordino_server.keys.schemas import KeyDocument, KeyList
from sordino_server.keys.source_terms import SourceTerms
from sordino_server.kit.clock import iso_8601
from sordino_server.kit.insert_if_absent import insert_if_absent
from sordino_server.kit.logs import request_id
from sordino_server.kit.pagination import Page
from sordino_server.models import AuditEntry, Key, Role
from sordino_shared._checks import check_name
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem

PREFIX = "sdo"
# Who acts where no operator does.
WORKER = "worker"
# Who refuses an order, in its entry.
SERVER = "server"
PEOPLE = frozenset({Role.ADMIN, Role.ANALYST})
# A key of a person that nobody renews in a year is one that nobody misses.
PERSON_S = 365 * 86400
_SECRET_BYTES = 32
_ID_BYTES = 8
# A hundred years: what is meant for longer has no end.
_LONGEST_S = 36525 * 86400
# What each role may stand in for: an admin may do everything, an uploader only send reports, an aggregator only sums.
_INCLUDES = {
    Role.ADMIN: frozenset(Role),
    Role.ANALYST: frozenset({Role.ANALYST, Role.UPLOADER}),
    Role.UPLOADER: frozenset({Role.UPLOADER}),
    Role.AGGREGATOR: frozenset({Role.AGGREGATOR}),
    Role.SHUFFLER: frozenset({Role.SHUFFLER}),
    Role.ISSUER: frozenset({Role.ISSUER}),
}


@dataclass(frozen=True)
class NewKey:
    """A key and its text, which is shown once and kept nowhere."""

    key: Key
    text: str

    def __repr__(self) -> str:
        return f"NewKey({self.key.id})"


def create(
    session: Session,
    name: str,
    role: Role,
    now: int,
    campaign: str | None = None,
    source: SourceTerms | None = None,
    *,
    expires_at: int | None = None,
) -> NewKey:
    """A new key sdo_<role>_<id>_<secret> with 256 random bits of secret; with `campaign`, its upload token.

    With `source`, the key by which sums of that source of the campaign come: the limit of reports is the source's, and
    that of its latest key stands. From `expires_at` (Unix seconds) on the key opens nothing; None: until it is revoked.
    """
    check_name(name, "name of a key")
    _check_bounds(role, campaign, source)
    _check_end(expires_at, now)
    if campaign is not None and not repository.has_campaign(session, campaign):
        raise ServerError(Problem.NOT_FOUND, "there is no campaign of this id")
    if campaign is not None and source is not None:
        if repository.is_series(session, campaign):
            raise InvalidValue("the periods of a series take no sums from elsewhere: run a series for each region")
        if repository.has_tokens(session, campaign):
            raise InvalidValue("a campaign with tokens takes no sums from elsewhere: nobody could count their tokens")
        collectors = repository.collectors(session, campaign)
        if collectors is not None and source.name not in collectors:
            raise InvalidValue(
                f"the manifest of the campaign names no collector {source.name}; it names: "
                f"{', '.join(collectors) or 'none'}",
                source.name,
            )
        repository.put_source(session, campaign, source.name, source.max_reports, now)
    identifier, secret = secrets.token_hex(_ID_BYTES), secrets.token_hex(_SECRET_BYTES)
    key = Key(
        id=identifier,
        name=name,
        role=role,
        campaign_id=campaign,
        source=None if source is None else source.name,
        secret_sha256=_hash(secret),
        created_at=now,
        expires_at=expires_at,
    )
    repository.add(session, key)
    return NewKey(key, f"{PREFIX}_{role}_{identifier}_{secret}")


def authenticate(session: Session, text: str, now: int) -> Key:
    """The key that `text` is; one answer for every way of being wrong, and equal time for wrong secrets.

    A caller hears that a key has expired only if it has the whole key.
    """
    parts = text.split("_")
    identifier, secret = (parts[2], parts[3]) if len(parts) == 4 and parts[0] == PREFIX else ("", "")
    key = repository.find(session, identifier)
    expected = key.secret_sha256 if key is not None else _hash("")
    matches = secrets.compare_digest(_hash(secret), expected)
    if key is None or not matches or key.revoked_at is not None or key.role != parts[1]:
        raise ServerError(Problem.UNAUTHORIZED, "the key is unknown, wrong or revoked; ask an admin for another")
    if key.has_expired(now):
        raise ServerError(Problem.UNAUTHORIZED, _expired(key))
    return key


def _expired(key: Key) -> str:
    command = f"sordino keys create --role {key.role}" + (f" --campaign {key.campaign_id}" if key.campaign_id else "")
    # The last admin has nobody to ask but who can log in to the machine.
    where = " on the server's machine" if Role(key.role) is Role.ADMIN else ""
    return (
        f"key {key.id} ({key.name}) expired at {iso_8601(key.expires_at or 0)}: ask an admin for another, which "
        f"`{command}` creates{where}, and put it in the place of this one"
    )


def _check_end(expires_at: int | None, now: int) -> None:
    """Raise InvalidValue for an end that is past, or so far away that it is none."""
    if expires_at is not None and not now < expires_at <= now + _LONGEST_S:
        raise InvalidValue(
            f"expires_at is a time after now, {iso_8601(now)} or {now} in Unix seconds, and within a hundred years; "
            "leave it out for a key without an end",
            expires_at,
        )


def _check_bounds(role: Role, campaign: str | None, source: SourceTerms | None) -> None:
    """Raise InvalidValue unless a key of the role belongs to what is given, and to nothing less."""
    if role is Role.AGGREGATOR:
        if campaign is None or source is None:
            raise InvalidValue(
                f"a key of role {role} belongs to one campaign and one source: give both, and the most reports of a "
                "round that the source may have"
            )
        return
    if role in (Role.SHUFFLER, Role.ISSUER) and campaign is None:
        raise InvalidValue(f"a key of role {role} belongs to one campaign: name it", role)
    if source is not None:
        raise InvalidValue(f"only a key of role {Role.AGGREGATOR} belongs to a source, not one of role {role}")
    if campaign is not None and role not in (Role.UPLOADER, Role.SHUFFLER, Role.ISSUER):
        raise InvalidValue(
            f"only a key of role {Role.UPLOADER}, {Role.AGGREGATOR}, {Role.SHUFFLER} or {Role.ISSUER} belongs to a "
            f"campaign, not one of role {role}",
            campaign,
        )


def check_sender(key: Key, campaign: str, source: str) -> None:
    """Raise `forbidden` unless sums of this source of the campaign may come with the key."""
    if Role(key.role) is Role.AGGREGATOR and (key.campaign_id, key.source) != (campaign, source):
        raise ServerError(
            Problem.FORBIDDEN,
            f"key {key.id} is for sums of source {key.source} of campaign {key.campaign_id}, not for {source} of "
            f"{campaign}",
        )


def check_shuffler(key: Key, campaign: str) -> None:
    """Raise `forbidden` for the key of a shuffler of another campaign."""
    if Role(key.role) is Role.SHUFFLER and key.campaign_id != campaign:
        raise ServerError(Problem.FORBIDDEN, f"key {key.id} is for the batches of another campaign")


def authenticate_uploader(session: Session, text: str, campaign: str, now: int) -> Key:
    """The key that `text` is, if reports of the campaign may be sent with it; raises `unauthorized`, `forbidden`."""
    key = authenticate(session, text, now)
    allow(key, Role.UPLOADER)
    if key.campaign_id not in (None, campaign):
        raise ServerError(Problem.FORBIDDEN, f"key {key.id} is the upload token of another campaign")
    return key


def authenticate_applicant(session: Session, text: str, campaign: str, now: int) -> Role:
    """The role, issuer or shuffler, by which tokens of the campaign may be asked for with the key that `text` is.

    Raises `unauthorized`, and `forbidden` for another role or campaign. An admin's key opens what an issuer's does.
    """
    key = authenticate(session, text, now)
    role = Role(key.role)
    if role is not Role.SHUFFLER:
        allow(key, Role.ISSUER)
        role = Role.ISSUER
    if key.campaign_id not in (None, campaign):
        raise ServerError(Problem.FORBIDDEN, f"key {key.id} is for the tokens of another campaign")
    return role


def allow(key: Key, wanted: Role) -> None:
    """Raise unless the key's role includes `wanted`."""
    if wanted not in _INCLUDES[Role(key.role)]:
        raise ServerError(
            Problem.FORBIDDEN, f"this needs a key of role {wanted}; key {key.id} has role {key.role}", role=key.role
        )


def revoke(session: Session, identifier: str, now: int, *, on_machine: bool = False) -> tuple[Key, bool]:
    """The key or person, who opens nothing from now on, and whether it did before: revoking again changes nothing.

    Raises `illegal-transition` for an admin's key without which nobody would be an admin within 30 days, unless
    `on_machine`: who can log in to the server's machine can make another.
    """
    found(repository.find(session, identifier), "there is no key of this id")
    admins = repository.lock_admins(session, now)
    key = repository.locked(session, identifier)
    assert key is not None
    if key.revoked_at is not None:
        return key, False
    if identifier in admins and not on_machine:
        _check_leaves_admin(identifier, admins, now)
    key.revoked_at = now
    return key, True


def _check_leaves_admin(identifier: str, admins: dict[str, int | None], now: int) -> None:
    """Raise unless another admin's key lasts for 30 days, or as long as this one."""
    never = now + 2 * _LONGEST_S
    ends = {each: end or never for each, end in admins.items()}
    own = ends.pop(identifier)
    if max(ends.values(), default=now) >= min(own, now + repository.WARNED_S):
        return
    rest = "without one nobody can create keys or set caps"
    if ends:
        rest = f"the others end by {iso_8601(max(ends.values()))}, and then nobody can create keys or set caps"
    raise ServerError(
        Problem.ILLEGAL_TRANSITION,
        f"{identifier} is the last key of role {Role.ADMIN}{' that lasts' if ends else ''}, and {rest}: create "
        f"another first, with `sordino keys create --role {Role.ADMIN}`",
    )


def rotate(session: Session, identifier: str, now: int, overlap_s: int) -> NewKey:
    """A successor with the name, role, campaign and source of a key in use, which ends after so many seconds.

    The successor lasts as long as the key was made for, and gets the answers that idempotency keys of its line got.
    Raises `not-found`, and `illegal-transition` for a key that opens nothing any more, or that has a successor.
    """
    repository.lock_admins(session, now)
    old = found(repository.locked(session, identifier), "there is no key of this id")
    if old.person is not None:
        raise ServerError(Problem.ILLEGAL_TRANSITION, f"{identifier} is a person, who has no key to rotate")
    if old.revoked_at is not None or old.has_expired(now):
        raise ServerError(Problem.ILLEGAL_TRANSITION, f"key {identifier} opens nothing any more: create another")
    if old.replaced_by is not None:
        raise ServerError(
            Problem.ILLEGAL_TRANSITION,
            f"key {identifier} has a successor, {old.replaced_by}, and ends at {iso_8601(old.expires_at or 0)}: rotate "
            "the successor",
        )
    lasts = None if old.expires_at is None else now + (old.expires_at - old.created_at)
    identifier, secret = secrets.token_hex(_ID_BYTES), secrets.token_hex(_SECRET_BYTES)
    new = Key(
        id=identifier,
        name=old.name,
        role=old.role,
        campaign_id=old.campaign_id,
        source=old.source,
        secret_sha256=_hash(secret),
        created_at=now,
        expires_at=lasts,
        line=old.line or old.id,
    )
    repository.add(session, new)
    end = now + max(overlap_s, 1)
    old.expires_at = end if old.expires_at is None else min(old.expires_at, end)
    old.replaced_by = new.id
    session.flush()
    return NewKey(new, f"{PREFIX}_{old.role}_{identifier}_{secret}")


def put_person(session: Session, person: str, name: str, role: Role, now: int) -> Key:
    """The row of the person with this SHA-256, with the role of now; a role that is new is in the audit log.

    Raises `forbidden` for a person whom an admin revoked.
    """
    row = Key(
        id=person[: 2 * _ID_BYTES],
        name=name,
        role=role,
        # Of a secret that nobody has: a person has no key.
        secret_sha256=_hash(secrets.token_hex(_SECRET_BYTES)),
        created_at=now,
        person=person,
    )
    key, is_new = insert_if_absent(session, row)
    if key.person != person:
        # Two digests that share 64 bits are no accident: somebody searched for such a subject.
        raise ServerError(Problem.FORBIDDEN, "another operator has your id: ask who runs this server")
    if key.revoked_at is not None:
        raise ServerError(Problem.FORBIDDEN, "an admin of this server revoked you: ask one")
    if is_new or key.role != role:
        before = None if is_new else {"role": key.role}
        key.name, key.role = name, role
        record(session, key, "change role", f"/v1/keys/{key.id}", now, before=before, after={"role": role})
    key.name = name
    session.flush()
    return key


def default_end(role: Role, now: int) -> int | None:
    """When a key ends by default: a person's after a year, any other never."""
    return now + PERSON_S if role in PEOPLE else None


def ends_soon(key: Key, now: int) -> bool:
    """Whether the key ends within 30 days and has no successor."""
    return key.expires_at is not None and key.replaced_by is None and key.expires_at < now + repository.WARNED_S


def ending(session: Session, now: int) -> list[Key]:
    """Keys of people that are in use and end within 30 days, the next to end first."""
    return list(repository.ending_before(session, now, now + repository.WARNED_S))


def lacks_admin(session: Session, now: int) -> bool:
    """Whether every admin's key that there ever was has ended: only `sordino keys` on the machine makes another."""
    return not repository.has_admin(session, now) and repository.has_admin(session)


def operators(session: Session, now: int) -> dict[str, str]:
    """The SHA-256 of secrets by id, of all keys that may sign in to the console."""
    roles = [role for role, included in _INCLUDES.items() if Role.ANALYST in included]
    return repository.in_use(session, roles, now)


def listed(session: Session, page: Page) -> KeyList:
    """A page of all keys, revoked ones too, newest first."""
    rows, token = repository.listed(session, page)
    return KeyList(keys=[KeyDocument.of(row) for row in rows], next_page_token=token)


def last_change(session: Session, action: str) -> dict[str, Any] | None:
    """What the last entry of this action says of `after`; other writers wait until the transaction ends."""
    repository.lock_audit_log(session)
    newest = repository.newest_entry(session, action)
    changed: dict[str, Any] | None = None if newest is None or newest.after is None else json.loads(newest.after)
    return changed


def terms_of(key: Key) -> dict[str, Any]:
    """What a key opens and until when, for the audit log."""
    terms = {"role": key.role, "campaign": key.campaign_id, "source": key.source, "expires_at": key.expires_at}
    return {name: value for name, value in terms.items() if value is not None}


def record(
    session: Session,
    key: Key | None,
    action: str,
    path: str,
    now: int,
    *,
    actor: str | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """Write into the audit log, in the transaction of the change, that the operator of `key` changed `path`.

    `actor` is who did it where that is not the key: `shell:uid` of a command on the server's machine, `server` where it
    refused the order of the key, and `worker`, whose entries have no key.
    """
    entry = AuditEntry(
        key_id=None if key is None else key.id,
        action=action,
        path=path,
        created_at=now,
        actor=actor or (WORKER if key is None else key.actor),
        request_id=request_id.get() or None,
        before=None if before is None else json.dumps(before, sort_keys=True),
        after=None if after is None else json.dumps(after, sort_keys=True),
    )
    repository.add_entry(session, entry)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
