"""/v1/datasets/{id}/releases and /v1/releases"""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Header, Request, Response
from sqlalchemy.orm import Session

from sordino_server.answers.schemas import schema_of
from sordino_server.answers.views import CSV_RESPONSES, IMMUTABLE, Form, as_asked
from sordino_server.context import Context, Injected
from sordino_server.datasets import service as datasets
from sordino_server.keys import service as keys
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.idempotency import PostAnswer
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import DigestPath, RequestPath
from sordino_server.releases import service
from sordino_server.releases.checking import check_release, rho_within
from sordino_server.releases.schemas import ReleaseList, ReleaseOrder, ReleaseStatus
from sordino_server.workloads import service as workloads
from sordino_shared.protocol import CBOR_MEDIA_TYPE

router = APIRouter(tags=["datasets"], route_class=OperatorRoute)

_Key = Annotated[
    str,
    Header(
        min_length=1,
        max_length=255,
        alias="Idempotency-Key",
        description="Names the release permanently: the same key never spends twice, another one is another release.",
    ),
]


@router.post("/datasets/{dataset_id}/releases", status_code=202, response_model=ReleaseStatus)
async def request_release(
    context: Injected, operator: Analyst, dataset_id: DigestPath, body: ReleaseOrder, idempotency_key: _Key
) -> Response:
    """Answer a workload from a dataset, once. A worker plans it, charges it, and draws the noise; poll its Location."""
    if body.delta is not None:
        body = body.keeping(await context.checks.run(rho_within, str(body.epsilon), str(body.delta)))
    asked = await anyio.to_thread.run_sync(_asked, context, dataset_id, body, idempotency_key)
    if asked is not None:
        await context.checks.run(check_release, *asked)

    def act(session: Session) -> PostAnswer:
        now = context.clock.now()
        row, new = service.request(session, dataset_id, body, idempotency_key, now)
        location = f"/v1/releases/{row.id}"
        if new:
            keys.record(session, operator, "request release", location, now)
        return PostAnswer(202, ReleaseStatus.of(row).model_dump(mode="json"), location=location)

    answer = await anyio.to_thread.run_sync(context.database.run, "request release", act)
    return answer.response()


def _asked(context: Context, dataset_id: str, order: ReleaseOrder, key: str) -> tuple[str, str, str | None] | None:
    """The stored terms of the dataset, the stored workload, and the mechanism.

    None where this key asked for a release before.
    """
    with context.database.read("read dataset and workload") as session:
        terms = datasets.get(session, dataset_id).terms
        if service.is_known(session, dataset_id, key):
            return None
        return terms, workloads.get(session, order.workload).specification, order.mechanism


@router.get("/datasets/{dataset_id}/releases")
def list_releases(context: Injected, _: Analyst, dataset_id: DigestPath, page: PageQuery) -> ReleaseList:
    """Releases from a dataset, newest first."""
    with context.database.read("list releases") as session:
        rows, token = service.listed(session, dataset_id, page)
        return ReleaseList(releases=[ReleaseStatus.of(row) for row in rows], next_page_token=token)


@router.get("/releases/{release_id}")
def get_release(context: Injected, _: Analyst, release_id: RequestPath) -> ReleaseStatus:
    """How far a release is."""
    with context.database.read("get release") as session:
        return ReleaseStatus.of(service.get(session, release_id))


@router.get("/releases/{release_id}/plan", response_class=Response, responses={200: {"content": {CBOR_MEDIA_TYPE: {}}}})
def get_release_plan(context: Injected, _: Analyst, release_id: RequestPath) -> Response:
    """The plan of a release as canonical CBOR: what was measured, and what is claimed and proved of it."""
    with context.database.read("get release plan") as session:
        return Response(service.plan(session, release_id), headers=IMMUTABLE, media_type=CBOR_MEDIA_TYPE)


@router.get("/releases/{release_id}/answers", response_model=schema_of("release"), responses=CSV_RESPONSES)
def get_release_answers(
    context: Injected, _: Analyst, request: Request, release_id: RequestPath, form: Form = None
) -> Response:
    """The answers of a release, the same bytes on every read; as a table with `format=csv`."""
    with context.database.read("get release answers") as session:
        content, digest = service.answers(session, release_id)
    return as_asked(request, content, form, IMMUTABLE | {"ETag": f'"{digest}"'})
