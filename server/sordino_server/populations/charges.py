"""The ledger of a population over time: from when until when each campaign counts in its caps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.models import AskedEpsilon, Population, SeriesRow
from sordino_server.populations import repository

DAY_S = 86400
# Of the ledger, so many of the newest entries are drawn, and searched for what leaves the period next.
MOST_CHARGES = 1000


def price_within(series: SeriesRow, days: int) -> int:
    """ε of the most answers that a device draws in any so many days, see `Rotating.most_drawn`."""
    return series.nano * series.law.most_drawn(days * DAY_S)


@dataclass(frozen=True)
class Charge:
    """What a campaign counts in the period from `begin` until before `end`, and from `begin` on for life."""

    begin: int
    end: float
    period_nano: int
    life_nano: int

    @classmethod
    def of(cls, entry: AskedEpsilon, series: SeriesRow | None, closed: int | None, days: int | None) -> Charge:
        """A series counts until so many days after it closed, any other campaign after it opened."""
        begin, span = entry.created_at, DAY_S * (days or 0)
        if series is None:
            return cls(begin, begin + span, entry.nano, entry.nano)
        end = math.inf if closed is None else closed + span
        return cls(begin, end, price_within(series, days or 1), entry.nano)


def charges_of(session: Session, population: Population) -> list[Charge]:
    """Of the newest `MOST_CHARGES` entries of the ledger, oldest first."""
    found = repository.charges(session, population.id, MOST_CHARGES)
    return [Charge.of(entry, series, closed, population.period_days) for entry, series, closed in found]


def history(charges: Sequence[Charge], asked: int, now: int) -> list[tuple[int, int, int]]:
    """(Unix time, nano-ε asked in the period that ends then, and for life) whenever one of them changed until `now`.

    `asked` is all that was asked for life: what the charges leave out counts from the start.
    """
    before = asked - sum(each.life_nano for each in charges)
    ends = {int(each.end) for each in charges if each.end <= now}
    moments = sorted({each.begin for each in charges} | ends)
    return [
        (
            moment,
            sum(each.period_nano for each in charges if each.begin <= moment < each.end),
            before + sum(each.life_nano for each in charges if each.begin <= moment),
        )
        for moment in moments
    ]
