"""/v1/keys and /v1/audit-log"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from sqlalchemy.orm import Session

from sordino_server.context import Injected
from sordino_server.keys import audit_log as reading
from sordino_server.keys import service
from sordino_server.keys.audit_log import AuditFilter
from sordino_server.keys.audit_subjects import SubjectKind
from sordino_server.keys.authentication import Admin, Analyst
from sordino_server.keys.idempotency import Once, PostAnswer
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.keys.schemas import AuditLog, KeyDocument, KeyList, KeyRequest, NewKeyDocument
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.models import Role

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


def audit_filter_of(
    person: Annotated[
        str | None,
        Query(min_length=1, max_length=240, description="Entries of this `key_name` or `actor`; `server`: its own."),
    ] = None,
    subject: Annotated[
        str | None,
        Query(pattern="^([0-9a-f]{1,64}|SORDINO_[A-Z_]{1,64})$", description="Entries about what has this id."),
    ] = None,
    kind: Annotated[SubjectKind | None, Query(description="Entries about this kind of subject.")] = None,
) -> AuditFilter:
    """The filter that a request names."""
    return AuditFilter(person=person, subject=subject, kind=kind)


AuditQuery = Annotated[AuditFilter, Depends(audit_filter_of)]


@audit_log.get("")
def read_audit_log(context: Injected, operator: Analyst, page: PageQuery, chosen: AuditQuery) -> AuditLog:
    """What operators and the server did, newest first: an entry for each POST, PATCH and DELETE that changed something.

    An analyst's key reads what is about campaigns, populations, plans, workloads, datasets and releases.
    """
    with context.database.read("read audit log") as session:
        return reading.read_audit_log(session, page, Role(operator.role), chosen)
