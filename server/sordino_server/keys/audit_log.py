"""Read the audit log: each entry with what it is about, chosen by person, subject and kind."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.errors import ServerError
from sordino_server.keys import repository
from sordino_server.keys.audit_subjects import READABLE, SubjectKind, subject_of
from sordino_server.keys.schemas import AuditEntryDocument, AuditLog, AuditSubject
from sordino_server.kit.pagination import Page, cut
from sordino_server.models import Role
from sordino_shared.protocol import Problem


@dataclass(frozen=True, kw_only=True)
class AuditFilter:
    """Chooses the entries that agree with every member that is not None."""

    person: str | None = None
    subject: str | None = None
    kind: SubjectKind | None = None


def read_audit_log(session: Session, page: Page, role: Role, chosen: AuditFilter) -> AuditLog:
    """A page of the entries that are chosen, newest first, of those that the role may read.

    Raises `forbidden` for a kind that is an admin's.
    """
    every = role is Role.ADMIN
    if chosen.kind is not None and chosen.kind not in READABLE and not every:
        raise ServerError(
            Problem.FORBIDDEN, f"entries of kind {chosen.kind} need a key of role {Role.ADMIN}", role=role
        )
    conditions = [] if every else [repository.of_kinds(READABLE)]
    if chosen.kind is not None:
        conditions.append(repository.of_kinds({chosen.kind}))
    if chosen.subject is not None:
        conditions.append(repository.of_subject(chosen.subject))
    if chosen.person is not None:
        conditions.append(repository.acted(chosen.person))
    # A token holds up to 64 digits, and a database compares numbers of 64 bits.
    before = None if page.after is None else min(int(page.after.id, 16), 2**62)
    rows = repository.listed_entries(session, page.size + 1, before, conditions)
    shown, token = cut([AuditEntryDocument.of(*row) for row in rows], page)
    entries = _with_subjects(session, list(shown))
    return AuditLog(entries=entries, complete=every and chosen == AuditFilter(), next_page_token=token)


def _with_subjects(session: Session, entries: list[AuditEntryDocument]) -> list[AuditEntryDocument]:
    subjects = [subject_of(each.path) for each in entries]
    names = repository.names_of_subjects(session, {each for each in subjects if each is not None})
    for entry, subject in zip(entries, subjects, strict=True):
        if subject is not None:
            kind, identifier = subject
            entry.subject = AuditSubject(kind=kind, id=identifier, name=names.get(subject))
    return entries
