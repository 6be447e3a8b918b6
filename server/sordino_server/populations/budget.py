"""What the devices of a population may still be asked: what is left, when there is room again, and what fits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sqlalchemy.orm import Session

from sordino_server.models import Population
from sordino_server.populations.charges import DAY_S, Charge
from sordino_server.populations.schemas import BudgetFit, PopulationBudget, Room
from sordino_server.populations.service import document
from sordino_shared.guarantees import NANO
from sordino_shared.protocol.series import MAX_ANSWERS, MAX_SLOTS

# What a planner is offered; see `console/users_table.py`.
_ASKED_NANO = tuple(NANO * quarters // 4 for quarters in (1, 2, 4, 8, 16))
_WEEK_S = 7 * DAY_S


def budget(session: Session, population: Population, charges: Sequence[Charge], now: int) -> PopulationBudget:
    """The population with what is left of its caps `now`, when there is more, and what would fit."""
    shown = document(session, population, now)
    left_in_period = _left(population.period_nano, shown.asked_in_period)
    left_for_life = _left(population.lifetime_nano, shown.asked)
    left = min((each for each in (left_in_period, left_for_life) if each is not None), default=None)
    return PopulationBudget(
        **shown.model_dump(exclude={"created"}),
        left=_epsilon(left),
        left_in_period=_epsilon(left_in_period),
        left_for_life=_epsilon(left_for_life),
        room=_room(population, charges, left_for_life, left, now),
        fits=list(_fits(population, left, left_in_period, left_for_life)),
    )


def _left(cap: int | None, asked: float | None) -> int | None:
    """Nano-ε below the cap; 0 where a cap was lowered below what was asked."""
    return None if cap is None else max(0, cap - round((asked or 0.0) * NANO))


def _epsilon(nano: int | None) -> float | None:
    return None if nano is None else nano / NANO


def _room(
    population: Population, charges: Sequence[Charge], left_for_life: int | None, left: int | None, now: int
) -> Room | None:
    """The first moment at which more fits than now; None where nothing leaves the period, or life leaves no more."""
    if population.period_nano is None or left is None:
        return None
    for at in sorted({int(each.end) for each in charges if now < each.end < math.inf}):
        still = sum(each.period_nano for each in charges if each.end > at)
        then = max(0, population.period_nano - still)
        then = then if left_for_life is None else min(then, left_for_life)
        if then > left:
            return Room(at=at, epsilon=then / NANO)
    return None


def _fits(
    population: Population, left: int | None, left_in_period: int | None, left_for_life: int | None
) -> Iterator[BudgetFit]:
    """What fits now at each ε that is offered and not above what is left; nothing of a population without caps."""
    if left is None:
        return
    for nano in _ASKED_NANO:
        if nano > left:
            return
        weeks = 1 if left_in_period is None else _weeks(population.period_days or 1, left_in_period // nano)
        answers = MAX_ANSWERS if left_for_life is None else min(MAX_ANSWERS, left_for_life // nano)
        yield BudgetFit(
            epsilon=nano / NANO,
            questions=left // nano,
            weekly_slots=weeks if weeks <= MAX_SLOTS else None,
            weekly_answers=None if left_for_life is None else answers,
        )


def _weeks(days: int, answers: int) -> int:
    """The fewest weeks k from one answer to the next with ⌈(days + a week)/(k weeks)⌉ ≤ answers.

    `most_drawn_within` of a series of weeks that asks about the week that runs.
    """
    return -(-(days * DAY_S + _WEEK_S) // (answers * _WEEK_S))
