"""Entries of the audit log in sentences: who did what to which question, by names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from sordino_server.keys.audit_log import AuditFilter, read_audit_log
from sordino_server.keys.audit_subjects import SubjectKind
from sordino_server.keys.schemas import AuditEntryDocument
from sordino_server.keys.service import SERVER, WORKER
from sordino_server.kit.pagination import Page
from sordino_server.kit.times import Created
from sordino_server.models import Role
from sordino_shared.quantities import quantity

# What the console calls a kind, where it is not what the API calls it, and where it shows one.
_CALLED = {SubjectKind.CAMPAIGN: "question"}
_SHOWN_AT = {
    SubjectKind.CAMPAIGN: "/console/campaigns/",
    SubjectKind.POPULATION: "/console/populations/",
    SubjectKind.PLAN: "/console/plans/",
}
_PAST = {
    "archive": "archived", "cancel": "cancelled", "change": "changed", "close": "closed", "create": "created",
    "delete": "deleted", "import": "imported", "open": "opened", "pause": "paused", "refuse": "refused",
    "register": "registered", "request": "requested", "restore": "restored", "resume": "resumed", "retry": "retried",
    "revoke": "revoked", "rotate": "rotated", "search": "searched", "sign": "signed", "waive": "waived",
}  # fmt: skip
# In a sentence with the name of what it was done to; other actions are said by their words.
_SAYS = {
    "create campaign": "drafted", "open campaign": "opened", "close campaign": "closed", "cancel campaign": "cancelled",
    "archive campaign": "archived", "restore campaign": "restored", "delete campaign": "deleted",
    "close round": "closed a round of", "retry round": "tried again to answer", "pause series": "paused",
    "resume series": "resumed", "create share link": "shared", "revoke share link": "took back a link to",
    "request plan": "planned", "cancel plan request": "cancelled the plan of", "register workload": "described",
    "create population": "set limits for", "refuse to open campaign": "refused to open",
    "delete reports": "deleted the reports of", "search strings": "searched the strings of",
    "create key": "made the key", "revoke key": "revoked the key", "create dataset": "added",
}  # fmt: skip
# Actors who are nobody: the server itself.
_THE_SERVER = "The server"


class ActivityEntry(Created):
    """What somebody did, to what; `name` is empty of what has none any more."""

    id: str
    who: str = Field(description="Name of the key or person, or `The server`.")
    done: str = Field(description="Such as `opened campaign`.")
    says: str = Field(description="The same before a name, such as `opened`.")
    kind: str
    subject: str = Field(description="Id of the question, population or plan; empty where the entry names none.")
    name: str
    page: str | None = Field(description="Where the console shows it.")
    note: str = Field(description="Why the server closed or refused it; empty of other entries.")


class Activity(BaseModel):
    """A page of what was done, newest first."""

    entries: list[ActivityEntry]
    next_page_token: str | None


def newest_of(session: Session, campaign: str, most: int) -> list[ActivityEntry]:
    """The last things that were done to a question, newest first."""
    chosen = AuditFilter(subject=campaign, kind=SubjectKind.CAMPAIGN)
    return [entry_of(each) for each in read_audit_log(session, Page(most, None), Role.ANALYST, chosen).entries]


def actor_named(shown: str) -> str | None:
    """Whom the filter of the log means by a name of these pages; None: everybody."""
    return (SERVER if shown == _THE_SERVER else shown) or None


def entry_of(each: AuditEntryDocument) -> ActivityEntry:
    """The entry in words."""
    subject = each.subject
    verb, _, of = each.action.partition(" ")
    done = f"{_PAST.get(verb, verb)} {of}".strip()
    kind = None if subject is None else subject.kind
    name = "" if subject is None or subject.name is None else subject.name
    identifier = "" if subject is None or subject.id is None else subject.id
    # What was deleted has no name, and no page.
    shown_at = _SHOWN_AT.get(kind) if kind is not None and name else None
    return ActivityEntry(
        id=each.id,
        created_at=each.created_at,
        who=_who(each),
        done=done,
        says=_SAYS.get(each.action, done),
        kind="" if kind is None else _CALLED.get(kind, kind.value),
        subject=identifier,
        name=name,
        page=f"{shown_at}{identifier}" if shown_at is not None else None,
        note=_note(each),
    )


def _who(each: AuditEntryDocument) -> str:
    if each.actor in (SERVER, WORKER):
        return _THE_SERVER
    # The key of such an entry is the one that was changed.
    by_command = each.actor.startswith("shell:")
    return each.actor if by_command or each.key_name is None else each.key_name


def _note(each: AuditEntryDocument) -> str:
    """Why the server did it, from what the entry keeps."""
    made = _NOTES.get(each.actor)
    kept = None if made is None or each.after is None else json.loads(each.after)
    return "" if made is None or not isinstance(kept, dict) else made(each, kept)


def _of_closing(_: AuditEntryDocument, kept: Mapping[str, Any]) -> str:
    counted, wanted = kept.get("reports"), kept.get("wanted")
    if not isinstance(counted, int) or "by" not in kept:
        return ""
    of = f" of {wanted:,} wanted" if isinstance(wanted, int) else ""
    return f"{quantity(counted, 'report')}{of}" + ("; its time was up" if kept["by"] == "time" else "")


def _of_refusal(each: AuditEntryDocument, kept: Mapping[str, Any]) -> str:
    asked = f"{each.key_name} asked: " if each.key_name else ""
    return f"{asked}{kept.get('detail', '')}"


_NOTES: Mapping[str, Callable[[AuditEntryDocument, Mapping[str, Any]], str]] = {
    WORKER: _of_closing,
    SERVER: _of_refusal,
}
