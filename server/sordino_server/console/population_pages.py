"""/console/populations: the caps, and the ledger of each"""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, json_of, next_page, page, show, table_of
from sordino_server.context import Injected
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.populations import service
from sordino_server.populations.schemas import LedgerPage, PopulationDocument

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_LIST_COLUMNS = (
    "id", "name", "epsilon_per_period", "period_days", "epsilon_lifetime", "asked_in_period", "asked", "declared",
    "created",
)  # fmt: skip
_LEDGER_COLUMNS = ("campaign", "guarantee", "epsilon", "opened")


class ListedPopulations(BaseModel):
    """A page of populations with what was asked of each of their devices."""

    populations: list[PopulationDocument]
    next_page_token: str | None


class PopulationWithLedger(LedgerPage):
    """A population and a page of its ledger."""

    population: PopulationDocument


@page(router, "/populations")
def list_populations(visitor: Analyst, request: Request, context: Injected, requested: PageQuery) -> Response:
    """Populations, newest first, with the ε that was asked of each of their devices."""
    now = context.clock.now()
    with context.database.read("console populations") as session:
        rows, token = service.listed(session, requested)
        found = service.documents(session, rows, now)
    shown = ConsolePage(
        template="populations.html",
        title="Populations",
        json=partial(json_of, ListedPopulations(populations=found, next_page_token=token)),
        csv=partial(table_of, found, _LIST_COLUMNS),
        values={"populations": found, "next": next_page(request, token)},
    )
    return show(request, visitor, shown)


@page(router, "/populations/{population_id}")
def get_population(
    visitor: Analyst, request: Request, context: Injected, population_id: DigestPath, requested: PageQuery
) -> Response:
    """A population's caps and its ledger; the table has a row for each campaign that opened."""
    with context.database.read("console population") as session:
        population = service.document(session, service.get(session, population_id), context.clock.now())
        ledger = service.ledger(session, population_id, requested)
    document = PopulationWithLedger(population=population, **dict(ledger))
    shown = ConsolePage(
        template="population.html",
        title=population.name,
        json=partial(json_of, document),
        csv=partial(table_of, ledger.entries, _LEDGER_COLUMNS),
        values={
            "population": population,
            "entries": ledger.entries,
            "next": next_page(request, ledger.next_page_token),
        },
    )
    return show(request, visitor, shown)
