"""/v1/plan-requests and /v1/plans"""

from __future__ import annotations

import json
from typing import Annotated, Literal

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.orm import Session

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.documents.price_of_locality import PriceOfLocality
from sordino_server.context import Context, Injected
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.idempotency import Once, PostAnswer
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.immutable import immutable_response
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import DigestPath, RequestPath
from sordino_server.models import PlanPart, PlanPartKind, WorkloadRow
from sordino_server.plans import service
from sordino_server.plans.checking import content_key, price
from sordino_server.plans.readable import readable_document
from sordino_server.plans.schemas import PlanOrder, PlanRequestDocument, PlanRequestList, SampleSizeDocument
from sordino_server.populations import service as populations
from sordino_server.workloads import service as workloads
from sordino_shared.protocol import CBOR_MEDIA_TYPE, DevicePart

router = APIRouter(tags=["plans"], route_class=OperatorRoute)

PopulationQuery = Annotated[
    str | None, Query(description="Refuse now where no campaign may ask this population, and not after the planning.")
]


@router.post("/plan-requests", status_code=202, response_model=PlanRequestDocument)
async def request_plan(
    context: Injected, _: Analyst, once: Once, body: PlanOrder, population: PopulationQuery = None
) -> Response:
    """Request a plan. A worker computes it, unless an earlier request did; poll its Location for the progress."""
    workload = await anyio.to_thread.run_sync(_workload, context, body, population)
    key = await context.checks.run(content_key, body, workload.specification, workload.queries)

    def act(session: Session) -> PostAnswer:
        row = service.request(session, body, key, context.clock.now())
        document = PlanRequestDocument.of(row).model_dump(mode="json")
        return PostAnswer(202, document, location=f"/v1/plan-requests/{row.id}")

    return await anyio.to_thread.run_sync(once.run, "request plan", act)


def _workload(context: Context, order: PlanOrder, population: str | None) -> WorkloadRow:
    with context.database.read("read workload") as session:
        if population is not None:
            populations.check_open_to(session, population, context.settings.population_mode)
        return service.ordered_workload(session, order)


@router.get("/plan-requests")
def list_plan_requests(context: Injected, _: Analyst, page: PageQuery) -> PlanRequestList:
    """Plan requests, newest first."""
    with context.database.read("list plan requests") as session:
        return service.listed(session, page)


@router.get("/plan-requests/{request_id}")
def get_plan_request(context: Injected, _: Analyst, request_id: RequestPath) -> PlanRequestDocument:
    """A plan request: its progress, then the summary and digests of the plan, or the reason for its failure."""
    with context.database.read("get plan request") as session:
        return PlanRequestDocument.of(service.get(session, request_id))


@router.post("/plan-requests/{request_id}/cancel", response_model=PlanRequestDocument)
def cancel_plan_request(context: Injected, _: Analyst, once: Once, request_id: RequestPath) -> Response:
    """Cancel a plan request that is not finished; a worker that computes it stops within seconds."""

    def act(session: Session) -> PostAnswer:
        row = service.cancel(session, request_id, context.clock.now())
        session.flush()
        changed = f"/v1/plan-requests/{request_id}"
        return PostAnswer(200, PlanRequestDocument.of(row).model_dump(mode="json"), changed=changed)

    return once.run("cancel plan request", act)


@router.get("/plan-requests/{request_id}/sample-size")
def get_sample_size(
    context: Injected,
    _: Analyst,
    request_id: RequestPath,
    margin: Annotated[float, Query(gt=0, allow_inf_nan=False, description="Half width, in units of the answers.")],
    level: Annotated[float, Query(gt=0, lt=1, description="Probability of the interval.")] = 0.95,
    difference: Annotated[bool, Query(description="Of the difference of two campaigns.")] = False,
) -> SampleSizeDocument:
    """How many users the statement "each answer ± margin" needs with a finished plan for linear queries."""
    with context.database.read("get sample size") as session:
        return service.sample_size(service.get(session, request_id), margin, level, difference)


@router.get("/plan-requests/{request_id}/price-of-locality")
async def get_price_of_locality(
    context: Injected,
    _: Analyst,
    request_id: RequestPath,
    target_error: Annotated[float, Query(gt=0, allow_inf_nan=False, description="Root mean squared error.")],
    delta: Annotated[float, Query(ge=1e-15, lt=1, description="Of the privacy under a shuffler or a curator.")] = 1e-6,
) -> PriceOfLocality:
    """How many users the error takes if devices, a shuffler or a curator are trusted, with a finished plan."""

    def read() -> tuple[str, LinearSummary]:
        with context.database.read("get price of locality") as session:
            row = service.get(session, request_id)
            return workloads.get(session, row.workload_id).specification, service.linear_summary(row)

    specification, summary = await anyio.to_thread.run_sync(read)
    return await context.checks.run(price, specification, summary, target_error, delta)


@router.get(
    "/plans/{digest}",
    response_class=Response,
    responses={200: {"content": {CBOR_MEDIA_TYPE: {}, "application/json": {}}}, 304: {"description": "Unchanged."}},
)
def get_plan_part(
    context: Injected,
    request: Request,
    digest: DigestPath,
    form: Annotated[
        Literal["cbor", "json"],
        Query(alias="format", description="`json` is readable; the digest is that of the CBOR."),
    ] = "cbor",
) -> Response:
    """A part of a plan by its digest: immutable, for anybody."""
    with context.database.read("get plan part") as session:
        part = service.get_part(session, digest)
    if form == "json":
        return immutable_response(request, _readable(part), f"{digest}-json", "application/json")
    return immutable_response(request, part.content, digest, CBOR_MEDIA_TYPE)


@router.get("/protocol-plans/{digest}", response_class=Response, responses={304: {"description": "Unchanged."}})
def get_protocol_plan(context: Injected, request: Request, digest: DigestPath) -> Response:
    """A protocol plan by its digest: how rounds become one estimate. Immutable canonical JSON, public."""
    with context.database.read("get protocol plan") as session:
        content = service.protocol_plan_content(session, digest)
    return immutable_response(request, content, digest, "application/json")


def _readable(part: PlanPart) -> bytes:
    kind = DevicePart if part.document == PlanPartKind.DEVICE else AnalystPart
    return json.dumps(readable_document(kind.read(part.content)), ensure_ascii=False).encode()
