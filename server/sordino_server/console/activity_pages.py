"""/console/activity: who did what to which question, in sentences and by day"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from sordino_server.campaigns import service as campaigns
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, page
from sordino_server.context import Injected
from sordino_server.keys import service as keys
from sordino_server.keys.schemas import AuditEntryDocument
from sordino_server.kit.clock import iso_8601
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.times import Created
from sordino_server.populations import service as populations

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_COLUMNS = ("id", "created", "who", "done", "kind", "subject", "name")
# What an analyst may read: keys, sign-ins and settings stay in the audit log, for admins.
_READ = ("/v1/campaigns", "/v1/populations", "/v1/plan-requests", "/v1/workloads", "/v1/datasets", "/v1/releases")
_PATH = re.compile(r"/v1/(campaigns|populations|plan-requests|workloads|datasets|releases)/([0-9a-f]+)")
# What the part of the API is called, and where the console shows it.
_KINDS = {
    "campaigns": ("question", "/console/campaigns/"),
    "populations": ("population", "/console/populations/"),
    "plan-requests": ("plan", "/console/plans/"),
    "workloads": ("workload", None),
    "datasets": ("dataset", None),
    "releases": ("release", None),
}
_PAST = {
    "archive": "archived", "cancel": "cancelled", "change": "changed", "close": "closed", "create": "created",
    "delete": "deleted", "open": "opened", "pause": "paused", "register": "registered", "request": "requested",
    "restore": "restored", "resume": "resumed", "retry": "retried", "revoke": "revoked", "search": "searched",
    "waive": "waived",
}  # fmt: skip


class ActivityEntry(Created):
    """What somebody did, to what; `name` is empty of what has none any more."""

    id: str
    who: str = Field(description="Name of the key or person, or `worker`.")
    done: str = Field(description="Such as `opened campaign`.")
    kind: str
    subject: str = Field(description="Id of the question, population or plan; empty where the entry names none.")
    name: str
    page: str | None = Field(description="Where the console shows it.")


class Activity(BaseModel):
    """A page of what was done, newest first."""

    entries: list[ActivityEntry]
    next_page_token: str | None


@page(router, "/activity", "activity.html", _COLUMNS)
def list_activity(
    _: Analyst,
    context: Injected,
    requested: PageQuery,
    question: Annotated[str, Query(pattern="^([0-9a-f]{64})?$", description="Id of a campaign; default: all.")] = "",
) -> ConsolePage:
    """What operators and workers did, newest first, of one question or of all."""
    under = (f"/v1/campaigns/{question}",) if question else _READ
    with context.database.read("console activity") as session:
        log = keys.read_audit_log(session, requested, under)
        entries = _entries(session, log.entries)
    days = [(day, list(each)) for day, each in groupby(entries, lambda entry: iso_8601(entry.created_at)[:10])]
    document = Activity(entries=entries, next_page_token=log.next_page_token)
    return ConsolePage(title="Activity", document=document, rows=entries, values={"days": days, "question": question})


def _entries(session: Session, found: Sequence[AuditEntryDocument]) -> list[ActivityEntry]:
    subjects = [match.groups() if (match := _PATH.match(each.path)) else ("", "") for each in found]
    names: Mapping[str, Mapping[str, str]] = {
        "campaigns": campaigns.names_of(session, _ids(subjects, "campaigns")),
        "populations": populations.names_of(session, _ids(subjects, "populations")),
    }
    return [_entry(each, part, subject, names) for each, (part, subject) in zip(found, subjects, strict=True)]


def _ids(subjects: Sequence[tuple[str, ...]], part: str) -> set[str]:
    return {subject for of, subject in subjects if of == part}


def _entry(each: AuditEntryDocument, part: str, subject: str, names: Mapping[str, Mapping[str, str]]) -> ActivityEntry:
    kind, shown_at = _KINDS.get(part, ("", None))
    verb, _, of = each.action.partition(" ")
    name = names.get(part, {}).get(subject, "")
    # A question that was deleted has no page; plans are kept.
    is_there = bool(name) or part == "plan-requests"
    return ActivityEntry(
        id=each.id,
        created_at=each.created_at,
        who=each.key_name or each.actor,
        done=f"{_PAST.get(verb, verb)} {of}".strip(),
        kind=kind,
        subject=subject,
        name=name,
        page=f"{shown_at}{subject}" if shown_at is not None and is_there else None,
    )
