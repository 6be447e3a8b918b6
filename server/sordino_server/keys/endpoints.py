"""/v1/keys and /v1/audit-log"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from sqlalchemy.orm import Session

from sordino_server.context import Injected
from sordino_server.keys import service
from sordino_server.keys.authentication import Admin
from sordino_server.keys.idempotency import Once, PostAnswer
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.keys.schemas import AuditLog, KeyDocument, KeyList, KeyRequest, NewKeyDocument
from sordino_server.kit.page_parameters import PageQuery

router = APIRouter(prefix="/keys", tags=["keys"], route_class=OperatorRoute)
audit_log = APIRouter(prefix="/audit-log", tags=["keys"], route_class=OperatorRoute)


@router.post("", status_code=201, response_model=NewKeyDocument)
def create_key(context: Injected, _: Admin, once: Once, body: KeyRequest) -> Response:
    """Create a key. Only this response contains its text."""

    def act(session: Session) -> PostAnswer:
        now = context.clock.now()
        given = "expires_at" in body.model_fields_set
        new = service.create(
            session,
            body.name,
            body.role,
            now,
            body.campaign,
            body.source_terms(),
            expires_at=body.expires_at if given else service.default_end(body.role, now),
        )
        shown = KeyDocument.of(new.key).model_dump(mode="json")
        changed = f"/v1/keys/{new.key.id}"
        remembered, after = shown | {"key": None}, service.terms_of(new.key)
        return PostAnswer(201, shown | {"key": new.text}, remembered=remembered, changed=changed, after=after)

    return once.run("create key", act)


@router.get("")
def list_keys(context: Injected, _: Admin, page: PageQuery) -> KeyList:
    """All keys, including revoked ones, newest first."""
    with context.database.read("list keys") as session:
        return service.listed(session, page)


@router.delete("/{key_id}")
def revoke_key(
    context: Injected, operator: Admin, key_id: Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
) -> KeyDocument:
    """Revoke a key permanently."""
    name, now = "revoke key", context.clock.now()
    with context.database.write(name) as session:
        key, changed = service.revoke(session, key_id, now)
        if changed:
            terms = service.terms_of(key)
            service.record(session, operator, name, f"/v1/keys/{key_id}", now, before=terms, after={"revoked_at": now})
        return KeyDocument.of(key)


@audit_log.get("")
def read_audit_log(context: Injected, _: Admin, page: PageQuery) -> AuditLog:
    """What operators changed, newest first: one entry for every POST, PATCH and DELETE that changed something."""
    with context.database.read("read audit log") as session:
        return service.read_audit_log(session, page)
