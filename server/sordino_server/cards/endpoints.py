"""/v1/campaigns/{id}/card and /v1/datasets/{id}/card"""

from __future__ import annotations

from fastapi import APIRouter

from sordino_server.cards.schemas import Card
from sordino_server.context import Injected
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.path_parameters import DigestPath

router = APIRouter(tags=["cards"], route_class=OperatorRoute)


@router.get("/campaigns/{campaign_id}/card")
def get_campaign_card(context: Injected, _: Analyst, campaign_id: DigestPath) -> Card:
    """What the campaign asks, promises and keeps, for the people who sign it: every number is one of this API."""
    # Imported here: cards are rare, and the API process is small.
    from sordino_server.cards import service

    with context.database.read("get campaign card") as session:
        return service.of_campaign(session, context.settings, campaign_id, context.clock.now())


@router.get("/datasets/{dataset_id}/card")
def get_dataset_card(context: Injected, _: Analyst, dataset_id: DigestPath) -> Card:
    """The same of a dataset: what is protected, what releases may spend, who holds the rows."""
    from sordino_server.cards import service

    with context.database.read("get dataset card") as session:
        return service.of_dataset(session, context.settings, dataset_id)
