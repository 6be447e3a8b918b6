"""/v1/populations"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response
from sqlalchemy.orm import Session

from sordino_server.context import Injected
from sordino_server.keys import service as keys
from sordino_server.keys.authentication import Admin, Analyst
from sordino_server.keys.idempotency import Once, PostAnswer
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.populations import service
from sordino_server.populations.budget import budget
from sordino_server.populations.charges import charges_of
from sordino_server.populations.schemas import (
    LedgerPage,
    PopulationBudget,
    PopulationCaps,
    PopulationDocument,
    PopulationEntry,
    PopulationList,
    PopulationOrder,
)

router = APIRouter(prefix="/populations", tags=["populations"], route_class=OperatorRoute)

_IfMatch = Annotated[str, Header(max_length=64, description="ETag of the caps as last read.")]


@router.post("", status_code=201, response_model=PopulationDocument)
def create_population(context: Injected, _: Admin, once: Once, body: PopulationOrder) -> Response:
    """Create a population with its caps. Otherwise its first campaign creates it, without caps."""

    def act(session: Session) -> PostAnswer:
        population = service.create(session, body, context.clock.now())
        shown = service.document(session, population, context.clock.now()).model_dump(mode="json")
        return PostAnswer(201, shown, location=f"/v1/populations/{population.id}")

    return once.run("create population", act)


@router.get("")
def list_populations(context: Injected, _: Analyst, page: PageQuery) -> PopulationList:
    """Populations, newest first."""
    with context.database.read("list populations") as session:
        rows, token = service.listed(session, page)
        return PopulationList(populations=[PopulationEntry.of(row) for row in rows], next_page_token=token)


@router.get("/{population_id}")
def get_population(context: Injected, _: Analyst, population_id: DigestPath, response: Response) -> PopulationBudget:
    """A population's caps, the ε used per device and what is left of it, with the ETag that a change requires."""
    with context.database.read("get population") as session:
        population = service.get(session, population_id)
        response.headers["ETag"] = service.etag_of(population)
        return budget(session, population, charges_of(session, population), context.clock.now())


@router.patch("/{population_id}")
def change_population(
    context: Injected,
    operator: Admin,
    population_id: DigestPath,
    if_match: _IfMatch,
    body: PopulationCaps,
    response: Response,
) -> PopulationDocument:
    """Change caps, for campaigns that open from now on. `If-Match` names the caps that the change is based on."""

    name = "change population"

    def change(session: Session) -> PopulationDocument:
        before = service.caps_of(service.get(session, population_id))
        population = service.change_caps(session, population_id, body, if_match)
        now, after = context.clock.now(), service.caps_of(population)
        keys.record(session, operator, name, f"/v1/populations/{population_id}", now, before=before, after=after)
        response.headers["ETag"] = service.etag_of(population)
        return service.document(session, population, context.clock.now())

    return context.database.run(name, change)


@router.get("/{population_id}/ledger")
def get_ledger(context: Injected, _: Analyst, population_id: DigestPath, page: PageQuery) -> LedgerPage:
    """The opened campaigns of this population with their ε per device, newest first."""
    with context.database.read("get ledger") as session:
        return service.ledger(session, population_id, page)
