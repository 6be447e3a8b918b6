"""What was asked of a population's devices, whenever it changed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.models import AskedEpsilon, Population, SeriesRow
from sordino_server.populations import repository
from sordino_server.populations.service import DAY_S, price_within

MOST_CHARGES = 1000


def history(session: Session, population: Population, now: int) -> list[tuple[int, int, int]]:
    """(Unix time, nano-ε asked in the period that ends then, and for life) whenever one of them changed until `now`.

    Of the newest `MOST_CHARGES` entries of the ledger; what was asked before them counts in the second from the start.
    """
    found, span = repository.charges(session, population.id, MOST_CHARGES), DAY_S * (population.period_days or 0)
    charges = [_Charge.of(entry, series, closed, population.period_days or 1, span) for entry, series, closed in found]
    before = repository.asked(session, [population.id])[population.id] - sum(each.life_nano for each in charges)
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


@dataclass(frozen=True)
class _Charge:
    """What a campaign counts in the period from `begin` until before `end`, and from `begin` on for life."""

    begin: int
    end: float
    period_nano: int
    life_nano: int

    @classmethod
    def of(cls, entry: AskedEpsilon, series: SeriesRow | None, closed: int | None, days: int, span: int) -> _Charge:
        """A series counts until so many seconds after it closed, any other campaign after it opened."""
        begin = entry.created_at
        if series is None:
            return cls(begin, begin + span, entry.nano, entry.nano)
        return cls(begin, math.inf if closed is None else closed + span, price_within(series, days), entry.nano)
