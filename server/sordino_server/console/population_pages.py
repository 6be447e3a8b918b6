"""/console/populations: the caps, and the ledger of each"""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from sordino_analysis.figures import chosen
from sordino_server.console.budget_words import what_fits
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.inline_lines import PHONE, WIDE, Lines, budget_lines
from sordino_server.console.pages import ConsolePage, page
from sordino_server.context import Injected
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.populations import service
from sordino_server.populations.budget import budget
from sordino_server.populations.charges import DAY_S, charges_of, history
from sordino_server.populations.schemas import LedgerPage, PopulationBudget, PopulationDocument
from sordino_shared.guarantees import NANO
from sordino_shared.quantities import quantity

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_LIST_COLUMNS = (
    "id", "name", "epsilon_per_period", "period_days", "epsilon_lifetime", "asked_in_period", "asked", "declared",
    "created",
)  # fmt: skip
_LEDGER_COLUMNS = ("campaign", "name", "guarantee", "epsilon", "opened", "counts_until")
# The picture is of so many periods of the limit.
_PERIODS = 3


class ListedPopulations(BaseModel):
    """A page of populations with what was asked of each of their devices."""

    populations: list[PopulationDocument]
    next_page_token: str | None


class PopulationWithLedger(LedgerPage):
    """A population and a page of its ledger."""

    population: PopulationBudget


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
    """What is left of a population's limits, and what they went to; the table has a row for each that opened."""
    with context.database.read("console population") as session:
        row, now = service.get(session, population_id), context.clock.now()
        charges = charges_of(session, row)
        population = budget(session, row, charges, now)
        ledger = service.ledger(session, population_id, requested)
    document = PopulationWithLedger(population=population, **dict(ledger))
    steps = history(charges, round(population.asked * NANO), now)
    values = {
        "population": population,
        "fits": what_fits(population),
        "drawn": _drawn(population, steps, now),
        "now": now,
    }
    return ConsolePage(title=population.name, document=document, rows=ledger.entries, values=values)


def _drawn(population: PopulationBudget, steps: list[tuple[int, int, int]], now: int) -> list[Lines]:
    """What was asked below the limit, over three periods at most, for a page and for a phone; none before the first."""
    if not steps:
        return []
    days = population.period_days
    if days is None:
        limit, text = population.epsilon_lifetime, "limit for life"
        told = [(moment, life / NANO) for moment, _, life in steps]
    else:
        limit, text = population.epsilon_per_period, f"limit in any {quantity(days, 'day')}"
        told = [(moment, asked / NANO) for moment, asked, _ in steps]
    begin = told[0][0] if days is None else now - _PERIODS * days * DAY_S
    before = [value for moment, value in told if moment <= begin]
    shown = [*([(begin, before[-1])] if before else []), *(each for each in told if each[0] > begin)]
    named = "" if limit is None else f"{text}: {chosen(limit)}"
    return [budget_lines(shown, limit, named, now, frame) for frame in (WIDE, PHONE)]
