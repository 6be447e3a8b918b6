"""/console/populations: the caps, and the ledger of each"""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, page
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


@page(router, "/populations", "populations.html", _LIST_COLUMNS)
def list_populations(_: Analyst, context: Injected, requested: PageQuery) -> ConsolePage:
    """Populations, newest first, with the ε that was asked of each of their devices."""
    with context.database.read("console populations") as session:
        rows, token = service.listed(session, requested)
        found = service.documents(session, rows, context.clock.now())
    document = ListedPopulations(populations=found, next_page_token=token)
    return ConsolePage(title="Populations", document=document, rows=found)


@page(router, "/populations/{population_id}", "population.html", _LEDGER_COLUMNS)
def get_population(_: Analyst, context: Injected, population_id: DigestPath, requested: PageQuery) -> ConsolePage:
    """A population's caps and its ledger; the table has a row for each campaign that opened."""
    with context.database.read("console population") as session:
        population = service.document(session, service.get(session, population_id), context.clock.now())
        ledger = service.ledger(session, population_id, requested)
    document = PopulationWithLedger(population=population, **dict(ledger))
    return ConsolePage(title=population.name, document=document, rows=ledger.entries, values={"population": population})
