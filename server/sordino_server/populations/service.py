"""No campaign opens that would ask more ε of a population's devices than its caps allow.

Every campaign that opens is entered in the ledger with the whole ε that its manifest allows a device, at the moment it
opens: also where it is cancelled later, since its reports may be out by then. A population that nobody made is made
when its first campaign opens, without caps; where the mode is `declared` that campaign does not open.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_analysis.guarantees import Accountant, BasicComposition, Guarantee, kind_of
from sordino_server.config import PopulationMode
from sordino_server.errors import ServerError, found
from sordino_server.kit.pagination import Page
from sordino_server.models import AskedEpsilon, Campaign, KeptDefault, Population, SeriesRow
from sordino_server.populations import repository
from sordino_server.populations.charges import DAY_S, Charge, price_within
from sordino_server.populations.names import check_population, identifier_of
from sordino_server.populations.schemas import (
    LedgerEntry,
    LedgerPage,
    PopulationCaps,
    PopulationDocument,
    PopulationOrder,
)
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO
from sordino_shared.protocol import Problem
from sordino_shared.quantities import quantity

# The name under which a migration keeps when the newest population was made whose caps nobody had chosen.
WITHOUT_CAPS = "populations_without_caps"
# Prices what campaigns ask, in the unit of the caps.
_ACCOUNTANT: Accountant = BasicComposition()
_NONE = "there is no population of this id; one is made by POST, or by its first campaign"


@dataclass(frozen=True, kw_only=True)
class CapUse:
    """What a campaign asks under one cap and what was asked before it, in nano-ε of a device; `span` is in words."""

    span: str
    cap: int
    asked: int
    asks: int

    @property
    def exceeded(self) -> bool:
        """Whether the cap does not allow the campaign."""
        return self.asked + self.asks > self.cap

    @property
    def left(self) -> int:
        """What the cap leaves after the campaign; below 0 where it does not allow it."""
        return self.cap - self.asked - self.asks


class PopulationBudgetExceeded(ServerError):
    """The campaign would ask more ε of the population's devices than a cap allows."""

    def __init__(self, population: Population, use: CapUse) -> None:
        asks, asked, cap = (nano / NANO for nano in (use.asks, use.asked, use.cap))
        super().__init__(
            Problem.BUDGET_EXCEEDED,
            f"the campaign requires ε = {asks:g} of every device; of ε = {cap:g} that population "
            f"{population.name!r} allows {use.span}, {asked:g} was asked already; plan with less ε, wait, or have "
            "an admin raise the cap",
            population=population.id,
            asks=asks,
            asked=asked,
            cap=cap,
        )


def create(session: Session, order: PopulationOrder, now: int) -> Population:
    """A population with its caps, also where campaigns opened for it before; raises `already-exists` where the name
    is taken by one that an admin made, and InvalidValue where the order says nothing of caps: null is none.
    """
    check_population(order.name)
    repository.add(session, _without_caps(order.name, now))
    population = found(repository.find_for_change(session, identifier_of(order.name)), _NONE)
    if population.declared:
        raise ServerError(
            Problem.ALREADY_EXISTS,
            f"there is a population of this name, {population.name!r}; change its caps with PATCH",
            id=population.id,
        )
    if not order.columns():
        raise InvalidValue(
            "give the population a cap, as epsilon_lifetime, or epsilon_per_period with period_days; "
            '`"epsilon_lifetime": null` makes one without a cap'
        )
    population.declared = True
    _set(population, order)
    session.flush()
    return population


def get(session: Session, identifier: str) -> Population:
    """The population of this id; raises `not-found`."""
    return found(repository.find(session, identifier), _NONE)


def change_caps(session: Session, identifier: str, caps: PopulationCaps, etag: str) -> Population:
    """Other caps, if nobody changed them since `etag`. What was asked beyond a new cap stays asked."""
    population = found(repository.find_for_change(session, identifier), _NONE)
    if etag.strip() != etag_of(population):
        raise ServerError(Problem.PRECONDITION_FAILED, f"the caps were changed meanwhile; now {etag_of(population)}")
    _set(population, caps)
    population.declared = True
    population.version += 1
    return population


def caps_of(population: Population) -> dict[str, int | None]:
    """The caps in nano-ε, as the audit log keeps them."""
    return {name: getattr(population, name) for name in ("period_nano", "period_days", "lifetime_nano")}


def etag_of(population: Population) -> str:
    """The strong ETag of a population's caps."""
    return f'"{population.version}"'


def check_open_to(session: Session, name: str, mode: PopulationMode) -> None:
    """Raise InvalidValue where no campaign may ask this population: its name, or that no admin made it, forbids it."""
    check_population(name)
    known = repository.find(session, identifier_of(name))
    if mode == "declared" and (known is None or not known.declared):
        raise InvalidValue(
            f"population {name!r} was made by no admin, and this server opens campaigns only for those that were: an "
            "admin makes it, with caps, by `sordino populations create` or POST /v1/populations "
            "(SORDINO_POPULATIONS is `declared`, the default of every server that other machines reach)",
            name,
        )


@dataclass(frozen=True)
class CampaignCharge:
    """What a campaign asks of every device: a guarantee for life, and for a `series` some of it in every period."""

    campaign: str
    guarantee: Guarantee
    series: SeriesRow | None = None

    @property
    def life_nano(self) -> int:
        """Its price for life in nano-ε."""
        return _ACCOUNTANT.price(self.guarantee)

    def period_nano(self, days: int) -> int:
        """Its price within so many days: that of all answers that a device may be asked for in them."""
        return self.life_nano if self.series is None else price_within(self.series, days)


def charge(session: Session, name: str, charged: CampaignCharge, now: int, mode: PopulationMode = "open") -> None:
    """Enter in the ledger that a campaign opens; raises `PopulationBudgetExceeded` where a cap does not allow it.

    The population stays locked until the transaction ends, so that two campaigns cannot both take what is left.
    """
    check_open_to(session, name, mode)
    repository.add(session, _without_caps(name, now))
    population = found(repository.find_for_change(session, identifier_of(name)), _NONE)
    for use in _uses(session, population, charged, now):
        if use.exceeded:
            raise PopulationBudgetExceeded(population, use)
    kind = kind_of(charged.guarantee)
    entry = AskedEpsilon(
        id=charged.campaign, population_id=population.id, kind=kind, nano=charged.life_nano, created_at=now
    )
    repository.add_entry(session, entry)


def uses(session: Session, name: str, charged: CampaignCharge, now: int, mode: PopulationMode = "open") -> list[CapUse]:
    """What opening a campaign would do to each cap of its population, empty without caps; changes nothing.

    Raises InvalidValue where no campaign may ask this population.
    """
    check_open_to(session, name, mode)
    population = repository.find(session, identifier_of(name))
    return [] if population is None else list(_uses(session, population, charged, now))


def _uses(session: Session, population: Population, charged: CampaignCharge, now: int) -> Iterator[CapUse]:
    days = population.period_days
    if population.period_nano is not None and days is not None:
        before = _asked_in_periods(session, [population], now)[population.id]
        yield CapUse(
            span=f"in {quantity(days, 'day')}", cap=population.period_nano, asked=before, asks=charged.period_nano(days)
        )
    if population.lifetime_nano is not None:
        before = repository.asked(session, [population.id])[population.id]
        yield CapUse(span="for life", cap=population.lifetime_nano, asked=before, asks=charged.life_nano)


def names_of(session: Session, ids: Collection[str]) -> dict[str, str]:
    """The names of these populations, by their ids."""
    return repository.names_of(session, ids)


def listed(session: Session, page: Page) -> tuple[Sequence[Population], str | None]:
    """A page of populations, newest first, and the token of the next one."""
    return repository.listed(session, page)


def ledger(session: Session, identifier: str, page: Page) -> LedgerPage:
    """A page of what was asked of a population, newest first; raises `not-found`."""
    days = get(session, identifier).period_days
    rows, token = repository.ledger(session, identifier, page)
    return LedgerPage(entries=[_entry(*row, days) for row in rows], next_page_token=token)


def _entry(row: AskedEpsilon, campaign: Campaign, series: SeriesRow | None, days: int | None) -> LedgerEntry:
    end = Charge.of(row, series, campaign.closed_at, days).end
    ends = days is not None and end < math.inf
    answers = None if series is None else series.answers_max
    return LedgerEntry.of(row, campaign.name, answers, int(end) if ends else None)


def document(session: Session, population: Population, now: int) -> PopulationDocument:
    """The population with what was asked of it until `now`."""
    return documents(session, [population], now)[0]


def from_before_caps(session: Session) -> list[str]:
    """Names of populations without a cap from before one had to be chosen, whose caps nobody has set since."""
    kept = session.get(KeptDefault, WITHOUT_CAPS)
    return [] if kept is None else repository.names_without_caps(session, int(kept.value))


def documents(session: Session, populations: Sequence[Population], now: int) -> list[PopulationDocument]:
    """The same of many populations, with as many statements as for one."""
    in_period = _asked_in_periods(session, populations, now)
    asked = repository.asked(session, [row.id for row in populations])
    return [PopulationDocument.of(row, in_period.get(row.id), asked[row.id]) for row in populations]


def _asked_in_periods(session: Session, populations: Sequence[Population], now: int) -> dict[str, int]:
    """Nano-ε of campaigns that opened in the population's period, and of series that took reports in it, whenever they
    opened; a population without a period is left out.
    """
    days = {row.id: row.period_days for row in populations if row.period_days is not None}
    after = {identifier: now - DAY_S * count for identifier, count in days.items()}
    asked = repository.asked_once_after(session, after)
    for identifier, series in repository.series_after(session, after):
        asked[identifier] += price_within(series, days[identifier])
    return asked


def _without_caps(name: str, now: int) -> Population:
    return Population(id=identifier_of(name), name=name, version=1, declared=False, created_at=now)


def _set(population: Population, caps: PopulationCaps) -> None:
    for column, value in caps.columns().items():
        setattr(population, column, value)
    if (population.period_nano is None) != (population.period_days is None):
        raise InvalidValue("epsilon_per_period and period_days go together: give both, or null for both", caps)
    lifetime = population.lifetime_nano
    if population.period_nano is not None and lifetime is not None and population.period_nano > lifetime:
        raise InvalidValue("epsilon_per_period is above epsilon_lifetime: it could never be reached", caps)
