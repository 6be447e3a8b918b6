"""/v1/experiments and /v1/campaigns/{id}/experiment"""

from __future__ import annotations

from fastapi import APIRouter

from sordino_server.context import Injected
from sordino_server.experiments import listing, service
from sordino_server.experiments.schemas import ExperimentDocument, ExperimentList
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import DigestPath

router = APIRouter(tags=["experiments"], route_class=OperatorRoute)


@router.get("/experiments")
def list_experiments(context: Injected, _: Analyst, requested: PageQuery) -> ExperimentList:
    """Experiments, newest first, with what the last look of each says."""
    with context.database.read("list experiments") as session:
        return listing.listed(session, requested)


@router.get("/campaigns/{campaign_id}/experiment")
def get_experiment(context: Injected, _: Analyst, campaign_id: DigestPath) -> ExperimentDocument:
    """An experiment's rule and its looks. While it is open the looks of its planned days are all that is shown."""
    with context.database.read("get experiment") as session:
        return service.document(session, campaign_id)
