"""A series: one question that comes back every period, answered by a device once in `slots` periods. Integers only.

Period i is [start + i·period_s, start + (i+1)·period_s) in Unix seconds. A device of phase φ answers the periods
i ≡ φ (mod slots), so that in any w consecutive periods it is asked about ⌈w/slots⌉ at most, and about `answers_max`
for life. The number of a period is the number of its round.

Two answers of one device are at least `apart_s` seconds apart, less than `slots` periods: an early answer may follow a
late one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.ids import CampaignId
from sordino_shared.quantities import duration, quantity

MAX_SLOTS = 4096
MAX_ANSWERS = 10**6
MAX_PERIOD_S = 2**31
MAX_TIME = 2**40
EPOCHS = 2**16
_UNITS = {3600: "hour", 86_400: "day", 604_800: "week"}


class ValueOf(StrEnum):
    """Which period an answer is about: the one that runs, or one that is over, for totals."""

    CURRENT = "current"
    PREVIOUS = "previous"


@dataclass(frozen=True)
class Period:
    """Period `number` of a series: from `start` until before `end`, in Unix seconds."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Rotating:
    """Each device draws a phase φ from 0…slots−1 once for life, and answers the periods i ≡ φ (mod slots).

    `period_s` and `late_s` are in seconds, `start` in Unix seconds. Reports of a period count until `late_s` after its
    end (`previous`: after the end of the period that follows it). `replaces` names the series whose place this one
    takes on a device that answered it.
    """

    kind: ClassVar[str] = "rotating"
    start: int
    period_s: int
    slots: int
    answers_max: int
    value_of: ValueOf
    late_s: int
    replaces: CampaignId | None

    def __post_init__(self) -> None:
        check_range(self.start, 0, MAX_TIME, "start of the series")
        check_range(self.period_s, 1, MAX_PERIOD_S, "period_s")
        check_range(self.slots, 1, MAX_SLOTS, "number of slots")
        check_range(self.answers_max, 1, MAX_ANSWERS, "answers_max")
        check_range(self.late_s, 0, MAX_TIME, "late_s")
        if self.slots > 1 and self.late_s >= self.pause_s:
            raise InvalidValue(
                f"late_s must be below the {self.pause_s} seconds between two periods of a device, got {self.late_s}: "
                "shorten late_s, or take more slots",
                self.late_s,
            )

    @property
    def answering_s(self) -> int:
        """For how many seconds a device may answer one period: `late_s` longer than a period where it is about one that
        is over. With one slot the next period takes its place at once.
        """
        return self.period_s + (self.late_s if self.value_of is ValueOf.PREVIOUS and self.slots > 1 else 0)

    @property
    def cycle_s(self) -> int:
        """slots · period_s: the seconds from one period of a device to its next."""
        return self.slots * self.period_s

    @property
    def apart_s(self) -> int:
        """cycle_s − answering_s: the least seconds between two answers of a device, as a late one comes first."""
        return self.cycle_s - self.answering_s

    @property
    def turn(self) -> str:
        """The periods that hold at most one answer of a device, in words: any 30 days in a row, any week."""
        unit = _UNITS.get(self.period_s)
        if self.slots == 1:
            return f"any {unit or f'period of {duration(self.period_s)}'}"
        periods = f"{self.slots} periods of {duration(self.period_s)}" if unit is None else quantity(self.slots, unit)
        return f"any {periods} in a row"

    @property
    def pause_s(self) -> int:
        """The least seconds between the end of one period of a device and the start of its next."""
        return (self.slots - 1) * self.period_s

    def number_at(self, now: int) -> int:
        """⌊(now − start)/period_s⌋: the period that runs at `now`, below 0 before the start."""
        return (now - self.start) // self.period_s

    def period(self, number: int) -> Period:
        """Period `number` with its ends."""
        start = self.start + number * self.period_s
        return Period(number, start, start + self.period_s)

    def accepted_from(self, number: int) -> int:
        """The first second at which an answer to period `number` may be given, and its report counts."""
        return self.period(number + self._lag).start

    def accepted_until(self, number: int) -> int:
        """The second from which no report of period `number` counts any more."""
        return self.period(number + self._lag).end + self.late_s

    def accepts(self, number: int, now: int) -> bool:
        """Whether a report of period `number` counts when it comes at `now`, by the server's clock."""
        return number >= 0 and self.accepted_from(number) <= now < self.accepted_until(number)

    def accepted_numbers(self, now: int) -> range:
        """The periods whose reports count at `now`, in order."""
        last = self.number_at(now) - self._lag
        first = self.number_at(now - self.late_s) - self._lag
        return range(max(first, 0), max(last, -1) + 1)

    def asked_at(self, phase: int, now: int) -> Period | None:
        """The period that a device of `phase` may answer at `now`; None if there is none.

        `current`: the period that runs. `previous`: the latest that is over, of this phase, and still accepted.
        """
        latest = self.number_at(now) - self._lag
        number = latest if self.value_of is ValueOf.CURRENT else latest - (latest - phase) % self.slots
        own = number >= 0 and number % self.slots == phase
        return self.period(number) if own and self.accepts(number, now) else None

    def most_answers(self, periods: int) -> int:
        """min(⌈periods/slots⌉, answers_max): the most that a device is asked about any `periods` in a row."""
        return min(-(-periods // self.slots), self.answers_max)

    def most_reports(self, periods: int) -> int:
        """min(⌈(periods + late_s/period_s)/slots⌉, answers_max): the most reports of a device that arrive in `periods`.

        The window begins with a period; none arrive in 0 periods. Where nothing is late this is `most_answers`.
        """
        window_s = periods * self.period_s + self.late_s
        return min(-(-window_s // self.cycle_s), self.answers_max) if periods > 0 else 0

    def most_drawn(self, seconds: int) -> int:
        """min(`most_drawn_within`, answers_max): the most answers of a device in any `seconds` of its clock."""
        return min(most_drawn_within(seconds, self.cycle_s, self.answering_s), self.answers_max)

    def longest_window_s(self, answers: int) -> int:
        """The most seconds that never hold more than so many answers of a device: answers·cycle_s − answering_s.

        A cap over this time with room for `answers` refuses none of this series. Below 1 where no time is short enough.
        """
        return answers * self.cycle_s - self.answering_s

    def fewest_for_window(self, seconds: int) -> int:
        """The fewest answers that a cap over `seconds` has room for where it refuses none of this series."""
        return most_drawn_within(seconds, self.cycle_s, self.answering_s)

    @staticmethod
    def epoch(number: int) -> int:
        """number mod 2^16: the head of the ids of its reports."""
        return number % EPOCHS

    @property
    def _lag(self) -> int:
        return 1 if self.value_of is ValueOf.PREVIOUS else 0


def most_drawn_within(seconds: int, cycle_s: int, answering_s: int) -> int:
    """⌈(seconds + answering_s)/cycle_s⌉: the most answers of a device in any `seconds`.

    k answers take from the end of the first one's time to the begin of the last one's, (k − 1)·cycle_s − answering_s.
    """
    return -(-(seconds + answering_s) // cycle_s) if seconds > 0 else 0
