"""/v1/keys"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from sqlalchemy.orm import Session

from sordino_server.context import Injected
from sordino_server.keys import repository, service
from sordino_server.keys.authentication import Admin
from sordino_server.keys.idempotency import Once, PostAnswer
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.keys.schemas import KeyDocument, KeyList, KeyRequest, NewKeyDocument
from sordino_server.kit.pagination import AskedPage, cut

router = APIRouter(prefix="/keys", tags=["keys"], route_class=OperatorRoute)


@router.post("", status_code=201, response_model=NewKeyDocument)
def create_key(context: Injected, _: Admin, once: Once, body: KeyRequest) -> Response:
    """Create a key. Only this response contains its text."""

    def act(session: Session) -> PostAnswer:
        new = service.create(session, body.name, body.role, context.clock.now(), body.campaign)
        shown = KeyDocument.of(new.key).model_dump(mode="json")
        return PostAnswer(201, shown | {"key": new.text}, remembered=shown | {"key": None})

    return once.run("create key", act)


@router.get("")
def list_keys(context: Injected, _: Admin, page: AskedPage) -> KeyList:
    """All keys, including revoked ones, newest first."""
    with context.database.read("list keys") as session:
        rows, token = cut(repository.listed(session, page), page)
        return KeyList(keys=[KeyDocument.of(row) for row in rows], next_page_token=token)


@router.delete("/{key_id}")
def revoke_key(context: Injected, _: Admin, key_id: Annotated[str, Path(pattern="^[0-9a-f]{16}$")]) -> KeyDocument:
    """Revoke a key permanently."""
    with context.database.write("revoke key") as session:
        return KeyDocument.of(service.revoke(session, key_id, context.clock.now()))
