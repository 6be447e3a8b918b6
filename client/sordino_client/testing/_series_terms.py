"""How often a series of a test asks: once in `slots` hours, days or weeks."""

from __future__ import annotations

from typing import ClassVar

from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Rotating, ValueOf

DAY_S = 86_400


@dataclass(frozen=True, kw_only=True)
class _EveryPeriod:
    """A device answers in one period of `slots`, `answers_max` times for life.

    `value_of` is "current", or "previous" for totals of a period that is over; reports count until `late_s` seconds
    after their period.
    """

    period_s: ClassVar[int]
    slots: int
    answers_max: int = 52
    value_of: str = ValueOf.CURRENT.value
    late_s: int = 0

    def law(self, now: int) -> Rotating:
        """The series whose period 0 runs at `now`, in Unix seconds. Raises InvalidValue for terms that are none."""
        return Rotating(
            start=now - now % min(self.period_s, DAY_S),
            period_s=self.period_s,
            slots=self.slots,
            answers_max=self.answers_max,
            value_of=_value_of(self.value_of),
            late_s=self.late_s,
            replaces=None,
        )


@dataclass(frozen=True, kw_only=True)
class Hourly(_EveryPeriod):
    """A period is an hour that begins at a full hour."""

    period_s: ClassVar[int] = 3_600


@dataclass(frozen=True, kw_only=True)
class Daily(_EveryPeriod):
    """A period is a day that begins at midnight (UTC)."""

    period_s: ClassVar[int] = DAY_S


@dataclass(frozen=True, kw_only=True)
class Weekly(_EveryPeriod):
    """A period is seven days; period 0 begins at the last midnight (UTC)."""

    period_s: ClassVar[int] = 7 * DAY_S


def _value_of(name: str) -> ValueOf:
    if name not in [each.value for each in ValueOf]:
        raise InvalidValue(f'value_of is "current" or "previous", got {name!r}', name)
    return ValueOf(name)
