"""`Idempotency-Key` on POST: the response is stored with the work and returned to repeated requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from sqlalchemy import delete
from sqlalchemy.orm import Session

from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys import repository, service
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRequest
from sordino_server.kit.insert_if_absent import insert_if_absent
from sordino_server.models import IdempotencyKey, Key
from sordino_shared.protocol import Problem

# Long enough for a retry after a weekend's outage; later the key is free again.
REMEMBERED_S = 3 * 86400
_UNFINISHED = 0
# Who tries again and again fills no log.
_REFUSALS_S = 3600


@dataclass(frozen=True)
class PostAnswer:
    """Status and JSON body of a POST, written already where it may be large.

    `remembered` is stored in place of a body that holds a secret. `changed` is the path of what was changed, for the
    audit log: `location` where it is None, or that of the request; it is empty where nothing was. `before` and `after`
    go there too.
    """

    status: int
    body: dict[str, Any] | bytes
    _: KW_ONLY
    location: str | None = None
    remembered: dict[str, Any] | None = None
    changed: str | None = None
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None

    def response(self) -> Response:
        """The answer on the wire."""
        headers = {"Cache-Control": "no-store"}
        if self.location is not None:
            headers["Location"] = self.location
        return Response(_written(self.body), self.status, headers, "application/json")

    def document(self) -> dict[str, Any]:
        """The body as a value, of a small answer."""
        shown: dict[str, Any] = json.loads(self.body) if isinstance(self.body, bytes) else self.body
        return shown

    def kept(self) -> bytes:
        """What a replay needs: the location on a line of its own, and the body as it is or is remembered."""
        return json.dumps({"location": self.location}).encode() + b"\n" + _written(self.remembered or self.body)

    @classmethod
    def of_kept(cls, status: int, kept: bytes) -> PostAnswer:
        """The answer again; a large body is never parsed."""
        head, _, body = kept.partition(b"\n")
        if not body:  # one object, as versions before kept it for three days
            whole = json.loads(head)
            return cls(status, whole["body"], location=whole["location"])
        return cls(status, body, location=json.loads(head)["location"])


def _written(body: dict[str, Any] | bytes) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, kw_only=True)
class IdempotentPost:
    """A POST by the operator `key`, with the text of its Idempotency-Key if it has one."""

    context: Context
    key: Key
    token: str | None
    method_path: str
    body_sha256: str

    def run(self, name: str, act: Callable[[Session], PostAnswer]) -> Response:
        """`act` in the transaction `name`, or the stored answer where this was done before."""
        return self.answer(name, act).response()

    def answer(self, name: str, act: Callable[[Session], PostAnswer]) -> PostAnswer:
        """As `run`, for a caller that writes the response itself."""
        try:
            return self.context.database.run(name, lambda session: self._once(session, name, act))
        except ServerError as error:
            if error.problem is Problem.BUDGET_EXCEEDED:
                self._note_refusal(name, error)
            raise

    def _note_refusal(self, name: str, error: ServerError) -> None:
        """That a cap refused the order is in the audit log, once an hour however often it is sent."""
        # As the API calls what a form of the console is about.
        path = self.method_path.partition(" ")[2].replace("/console/", "/v1/", 1).replace("/actions/", "/", 1)
        action = f"refuse to {name}"
        now, after = self.context.clock.now(), {"problem": error.problem.slug, "detail": error.detail}

        def note(session: Session) -> None:
            last = repository.last_entry(session, action, path)
            if last is None or last.created_at <= now - _REFUSALS_S or last.key_id != self.key.id:
                service.record(session, self.key, action, path, now, actor=service.SERVER, after=after)

        self.context.database.run("note refusal", note)

    def _once(self, session: Session, name: str, act: Callable[[Session], PostAnswer]) -> PostAnswer:
        if self.token is None:
            return self._recorded(session, name, act(session))
        row = self._claim(session, self.token)
        if row.status != _UNFINISHED:
            return self._stored(row)
        answer = self._recorded(session, name, act(session))
        row.status, row.response = answer.status, answer.kept()
        return answer

    def _recorded(self, session: Session, name: str, answer: PostAnswer) -> PostAnswer:
        path = answer.location or self.method_path.partition(" ")[2] if answer.changed is None else answer.changed
        if path:
            now = self.context.clock.now()
            service.record(session, self.key, name, path, now, before=answer.before, after=answer.after)
        return answer

    def _claim(self, session: Session, token: str) -> IdempotencyKey:
        now = self.context.clock.now()
        session.execute(delete(IdempotencyKey).where(IdempotencyKey.created_at < now - REMEMBERED_S))
        row = IdempotencyKey(
            key_id=self.key.line or self.key.id,
            key=token,
            method_path=self.method_path,
            body_sha256=self.body_sha256,
            status=_UNFINISHED,
            response=b"",
            created_at=now,
        )
        return insert_if_absent(session, row)[0]

    def _stored(self, row: IdempotencyKey) -> PostAnswer:
        if (row.method_path, row.body_sha256) != (self.method_path, self.body_sha256):
            raise ServerError(
                Problem.IDEMPOTENCY_CONFLICT,
                f"this Idempotency-Key was used for another {row.method_path}; take a new one for a new request",
            )
        return PostAnswer.of_kept(row.status, row.response)


async def _of_request(
    request: Request,
    context: Injected,
    key: Analyst,
    idempotency_key: Annotated[
        str | None,
        Header(min_length=1, max_length=255, description="A request repeated with this key is executed only once."),
    ] = None,
) -> IdempotentPost:
    assert isinstance(request, OperatorRequest)
    path = f"{request.method} {request.url.path}"
    return IdempotentPost(
        context=context, key=key, token=idempotency_key, method_path=path, body_sha256=request.arrived.sha256
    )


Once = Annotated[IdempotentPost, Depends(_of_request)]
