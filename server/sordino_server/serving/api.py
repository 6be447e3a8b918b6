"""Every route of the server, gathered from the nouns."""

from __future__ import annotations

import asyncio
from functools import cache, partial
from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from sordino_server.answers import endpoints as answers
from sordino_server.campaigns import endpoints as campaigns
from sordino_server.cards import endpoints as cards
from sordino_server.collecting import endpoints as collecting
from sordino_server.datasets import endpoints as datasets
from sordino_server.experiments import endpoints as experiments
from sordino_server.keys import endpoints as keys
from sordino_server.keys.operator_route import check_decided_here
from sordino_server.kit.immutable import has_tag
from sordino_server.kit.known_parameters import check_parameters
from sordino_server.kit.single_flight import SingleFlight
from sordino_server.plans import endpoints as plans
from sordino_server.plans import preview_endpoints as previews
from sordino_server.populations import endpoints as populations
from sordino_server.problem_details import ProblemDocument
from sordino_server.public_log import endpoints as public_log
from sordino_server.questions import endpoints as questions
from sordino_server.releases import endpoints as releases
from sordino_server.reports import endpoints as reports
from sordino_server.serving import docs_page, health
from sordino_server.serving.description import Description
from sordino_server.share_links import endpoints as share_links
from sordino_server.shuffled import endpoints as shuffled
from sordino_server.sources import endpoints as sources
from sordino_server.string_searches import endpoints as string_searches
from sordino_server.tokens import endpoints as tokens
from sordino_server.workloads import endpoints as workloads
from sordino_shared.protocol import PROBLEM_MEDIA_TYPE

_PROBLEM: dict[str, Any] = {
    "description": "A problem document (RFC 9457).",
    "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}}},
}

router = APIRouter(responses={"4XX": _PROBLEM, "5XX": _PROBLEM}, dependencies=[Depends(check_parameters)])
router.include_router(health.probes)
for noun in (
    health,
    workloads,
    plans,
    previews,
    populations,
    campaigns,
    questions,
    sources,
    shuffled,
    answers,
    tokens,
    string_searches,
    share_links,
):
    router.include_router(noun.router, prefix="/v1")
for noun in (experiments, datasets, releases, keys, collecting, cards):
    router.include_router(noun.router, prefix="/v1")
router.include_router(keys.audit_log, prefix="/v1")
router.include_router(datasets.additions, prefix="/v1")
router.include_router(campaigns.open_lists, prefix="/v1")
# A collector keeps no log.
for part, prefix in (
    (public_log.router, "/v1"),
    (public_log.proofs, "/v1"),
    (public_log.files, ""),
    (public_log.witness, ""),
):
    router.include_router(part, prefix=prefix, dependencies=[Depends(check_decided_here)])
router.include_router(reports.router)
router.include_router(docs_page.router)


@router.get("/v1/openapi.json", include_in_schema=False)
async def describe(request: Request) -> Response:
    """This API as an OpenAPI document: the same bytes for everybody, under their ETag."""
    state = request.app.state
    if state.description is None:
        # Takes about a second, once: in a thread, so that uploads are answered meanwhile, and one for all who ask.
        describing: SingleFlight[Description] = state.describing
        make = partial(Description.of, request.app.openapi)
        state.description = await asyncio.shield(asyncio.wrap_future(describing.outcome(make)))
    description: Description = state.description
    headers = {"ETag": description.etag, "Cache-Control": "no-cache"}
    if has_tag(request, description.etag):
        return Response(status_code=304, headers=headers)
    return Response(description.content, headers=headers, media_type="application/json")


@cache
def all_routes(with_console: bool) -> tuple[BaseRoute, ...]:
    """The routes of every application: FastAPI analyses the endpoints of an included router at its first request."""
    whole = APIRouter()
    whole.include_router(router)
    if with_console:
        # Imported here: a server without pages does not load them.
        from sordino_server import console

        whole.include_router(console.router)
    return tuple(whole.routes)
