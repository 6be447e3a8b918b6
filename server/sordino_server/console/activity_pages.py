"""/console/activity: who did what to which question, in sentences and by day"""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Query

from sordino_server.console.activity_entries import Activity, ActivityEntry, actor_named, entry_of
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, page
from sordino_server.context import Injected
from sordino_server.keys.audit_log import AuditFilter, read_audit_log
from sordino_server.keys.audit_subjects import READABLE, SubjectKind
from sordino_server.kit.clock import iso_8601
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.models import Role

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_KIND = f"^({'|'.join(SubjectKind)})?$"
_COLUMNS = ("id", "created", "who", "done", "kind", "subject", "name", "note")


@page(router, "/activity", "activity.html", _COLUMNS)
def list_activity(
    visitor: Analyst,
    context: Injected,
    requested: PageQuery,
    question: Annotated[str, Query(pattern="^([0-9a-f]{64})?$", description="Id of a campaign; default: all.")] = "",
    person: Annotated[str, Query(max_length=240, description="Name of a person or key; default: everybody.")] = "",
    kind: Annotated[str, Query(pattern=_KIND, description="Entries about this; default: what analysts read.")] = "",
) -> ConsolePage:
    """What operators and the server did, newest first, of one question or of all."""
    about = SubjectKind(kind) if kind else None
    chosen = AuditFilter(person=actor_named(person.strip()), subject=question or None, kind=about)
    # Keys, sign-ins and settings are shown where an admin asks for them.
    role = Role.ANALYST if about is None or about in READABLE else Role(visitor.key.role)
    with context.database.read("console activity") as session:
        log = read_audit_log(session, requested, role, chosen)
    entries = [entry_of(each) for each in log.entries]
    values = {
        "days": by_day(entries),
        "question": question,
        "person": person,
        "kind": kind,
        "kinds": _kinds(visitor.key.role),
        "people": sorted({each.who for each in entries}),
    }
    document = Activity(entries=entries, next_page_token=log.next_page_token)
    return ConsolePage(title="Activity", document=document, rows=entries, values=values)


def by_day(entries: list[ActivityEntry]) -> list[tuple[str, list[ActivityEntry]]]:
    """The entries of each day, in their order."""
    return [(day, list(each)) for day, each in groupby(entries, lambda entry: iso_8601(entry.created_at)[:10])]


def _kinds(role: str) -> list[SubjectKind]:
    """What the filter offers."""
    return [each for each in SubjectKind if each in READABLE or role == Role.ADMIN]
