"""/v1/mirror"""

from __future__ import annotations

from fastapi import APIRouter

from sordino_server.collecting import service
from sordino_server.collecting.schemas import Mirror
from sordino_server.context import Injected
from sordino_server.keys.authentication import Aggregator
from sordino_server.keys.operator_route import OperatorRoute

router = APIRouter(tags=["campaigns"], route_class=OperatorRoute)


@router.get("/mirror")
def get_mirror(context: Injected, key: Aggregator) -> Mirror:
    """What a collector mirrors: state and rounds of the campaign that its key belongs to."""
    with context.database.read("get mirror") as session:
        return service.mirror_of(session, key)
