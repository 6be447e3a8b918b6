"""/v1/campaigns/{id}/experiment"""

from __future__ import annotations

from fastapi import APIRouter

from sordino_server.context import Injected
from sordino_server.experiments import service
from sordino_server.experiments.schemas import ExperimentDocument
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.path_parameters import DigestPath

router = APIRouter(prefix="/campaigns", tags=["experiments"], route_class=OperatorRoute)


@router.get("/{campaign_id}/experiment")
def get_experiment(context: Injected, _: Analyst, campaign_id: DigestPath) -> ExperimentDocument:
    """An experiment's rule and its looks. While it is open the looks of its planned days are all that is shown."""
    with context.database.read("get experiment") as session:
        return service.document(session, campaign_id)
