"""/console/keys and /console/audit-log, for admins"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse

from sordino_server.console.console_route import Admin, ConsoleRoute, Form
from sordino_server.console.form_once import FormOnce
from sordino_server.console.pages import ConsolePage, page
from sordino_server.console.rendering import render
from sordino_server.context import Injected
from sordino_server.keys import WARNED_S, service
from sordino_server.keys.audit_log import AuditFilter
from sordino_server.keys.audit_log import read_audit_log as read_entries
from sordino_server.keys.idempotency import PostAnswer
from sordino_server.keys.schemas import KeyDocument
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.models import Role
from sordino_shared.errors import InvalidValue

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_KEY_COLUMNS = ("id", "name", "role", "campaign", "source", "created", "expires", "last_used", "revoked")
_ENTRY_COLUMNS = (
    "id", "created", "actor", "key_id", "key_name", "role", "action", "path", "request_id", "before", "after", "sha256"
)  # fmt: skip
_KeyPath = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]


@page(router, "/keys", "keys.html", _KEY_COLUMNS)
def list_keys(_: Admin, context: Injected, requested: PageQuery) -> ConsolePage:
    """All keys, revoked ones too, newest first."""
    with context.database.read("console keys") as session:
        document = service.listed(session, requested)
    # A key of a source needs more than a name: `sordino keys create` makes it.
    now = context.clock.now()
    values = {"now": now, "soon": now + WARNED_S, "roles": [each.value for each in Role if each is not Role.AGGREGATOR]}
    return ConsolePage(title="Keys", document=document, rows=document.keys, values=values)


@router.post("/keys")
def create_key(visitor: Admin, context: Injected, once: FormOnce, form: Form) -> Response:
    """Create a key and show its text, once: the form sent again makes no second key."""
    role = _role(form.get("role", ""))
    now = context.clock.now()
    days = form.get("days", "").strip()
    expires_at = _end(days, now) if days else service.default_end(role, now)

    def act(session: Session) -> PostAnswer:
        new = service.create(session, form.get("name", ""), role, now, expires_at=expires_at)
        shown = KeyDocument.of(new.key).model_dump(mode="json")
        changed = f"/v1/keys/{new.key.id}"
        remembered, after = shown | {"key": None}, service.terms_of(new.key)
        return PostAnswer(201, shown | {"key": new.text}, remembered=remembered, changed=changed, after=after)

    document = once.answer("create key", act).document()
    return render("new_key.html", "New key", visitor=visitor, status=201, key=document, text=document["key"])


@router.post("/keys/{key_id}/revoke")
def revoke_key(visitor: Admin, context: Injected, key_id: _KeyPath, form: Form) -> Response:
    """Revoke a key permanently; its sessions end with it. One's own is revoked only after a question."""
    if key_id == visitor.key.id and form.get("own") != "yes":
        return render("revoke_own.html", "Revoke your own key", visitor=visitor, key=visitor.key)
    action, now = "revoke key", context.clock.now()
    with context.database.write(action) as session:
        key, changed = service.revoke(session, key_id, now)
        if changed:
            before, after = service.terms_of(key), {"revoked_at": now}
            service.record(session, visitor.key, action, f"/v1/keys/{key_id}", now, before=before, after=after)
    return RedirectResponse("/console/keys", 303)


@page(router, "/audit-log", "audit_log.html", _ENTRY_COLUMNS)
def read_audit_log(_: Admin, context: Injected, requested: PageQuery) -> ConsolePage:
    """What operators changed, newest first."""
    with context.database.read("console audit log") as session:
        document = read_entries(session, requested, Role.ADMIN, AuditFilter())
    return ConsolePage(title="Audit log", document=document, rows=document.entries)


def _end(days: str, now: int) -> int | None:
    if not days:
        return None
    if not (days.isascii() and days.isdigit() and 1 <= len(days) <= 6 and int(days)):
        raise InvalidValue(
            "days until the key expires: a whole number from 1, or nothing: a year for admin and analyst, else no end",
            days,
        )
    return now + int(days) * 86400


def _role(text: str) -> Role:
    if text not in set(Role):
        raise InvalidValue(f"role is one of {', '.join(Role)}", text)
    return Role(text)
