"""POST /v1/previews"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from sordino_server.context import Injected
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRequest, OperatorRoute
from sordino_server.plans.previews import ErrorPreview, Previews
from sordino_server.workloads.checking import CheckedWorkload, check_workload

router = APIRouter(tags=["plans"], route_class=OperatorRoute)

# Read by the endpoint, in a process of its own, and so not by FastAPI.
_BODY: dict[str, Any] = {
    "required": True,
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/WorkloadSpecification"}}},
}


async def _checked(context: Injected, request: Request, _: Analyst) -> CheckedWorkload:
    assert isinstance(request, OperatorRequest)
    request.check_json()
    return await context.checks.run(check_workload, request.arrived.content)


def previews_of(request: Request) -> Previews:
    """Those of this process."""
    found: Previews = request.app.state.previews
    return found


KnownPreviews = Annotated[Previews, Depends(previews_of)]


@router.post("/previews", openapi_extra={"requestBody": _BODY})
async def preview_errors(
    context: Injected,
    key: Analyst,
    previews: KnownPreviews,
    checked: Annotated[CheckedWorkload, Depends(_checked)],
) -> ErrorPreview:
    """The error of a workload at ε = 0.25, 0.5, 1, 2 and 4, from a quick search; nothing is stored.

    A key may ask for 10 a minute that are not known yet.
    """
    return await previews.preview(context, checked, key.id)
