"""What the budget of a population allows, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from sordino_analysis.figures import chosen
from sordino_server.populations.schemas import BudgetFit, PopulationBudget
from sordino_shared.quantities import quantity

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
# The ε that a weekly question is told of, where it is left.
_USUAL = 1.0
_MOST_OFFERS = 2


def date_of(unix: int) -> str:
    """6 Dec 2026, in UTC."""
    return datetime.fromtimestamp(unix, UTC).strftime("%-d %b %Y")


def minute_of(unix: int) -> str:
    """6 Dec 2026, 14:05 UTC."""
    return datetime.fromtimestamp(unix, UTC).strftime("%-d %b %Y, %H:%M UTC")


def what_fits(budget: PopulationBudget) -> list[str]:
    """What may still be asked now, and when more; nothing of a population without a limit."""
    return [] if budget.left is None else list(_sentences(budget, budget.left))


def _sentences(budget: PopulationBudget, left: float) -> Iterator[str]:
    if left == 0:
        yield "Nothing fits now."
    else:
        more = [each for each in reversed(budget.fits) if each.questions > 1][:_MOST_OFFERS]
        offers = [f"{_count(each.questions)} at ε {chosen(each.epsilon)}" for each in more]
        yield ", or ".join((f"One question at ε {chosen(left)}", *offers)) + "."
    weekly = next((each for each in budget.fits if each.epsilon == _USUAL), budget.fits[-1] if budget.fits else None)
    if weekly is not None and weekly.weekly_slots is not None:
        yield _weekly(weekly, weekly.weekly_slots)
    if budget.room is not None:
        yield f"From {date_of(budget.room.at)} on, one at ε {chosen(budget.room.epsilon)}."
    elif left == 0 and budget.left_for_life == 0:
        yield "The limit for life is reached: no question can be opened any more."


def _weekly(fit: BudgetFit, weeks: int) -> str:
    often = "every week" if weeks == 1 else f"once in {quantity(weeks, 'week')}"
    most = "" if fit.weekly_answers is None else f", at most {quantity(fit.weekly_answers, 'time')}"
    return f"A question every week at ε {chosen(fit.epsilon)} fits if each device answers {often}{most}."


def _count(number: int) -> str:
    return _WORDS[number] if number < len(_WORDS) else f"{number:,}"
