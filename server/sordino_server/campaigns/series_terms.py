"""The terms of a series in the order of a campaign, and the assignment that its manifest gets."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sordino_analysis.strict_model import StrictModel
from sordino_server.identifiers import DigestText
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import MAX_NANO, PureEpsilon, exact_decimal
from sordino_shared.protocol import CampaignId, Rotating, ValueOf
from sordino_shared.protocol.series import MAX_ANSWERS, MAX_SLOTS, MAX_TIME
from sordino_shared.quantities import quantity

_DAY_S = 86_400
# The wire allows more. A longer period, or one that began long ago, is a mistake: devices count ε when it is spent.
LONGEST_PERIOD_S = 400 * _DAY_S
_UNITS = ((604_800, "week"), (86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


class SeriesOrder(StrictModel):
    """A question that comes back every period; each device answers one period in `slots`."""

    period_s: Annotated[int, Field(strict=True, ge=1, le=LONGEST_PERIOD_S)] = Field(
        _DAY_S, description="Seconds of a period, at most 400 days."
    )
    slots: Annotated[int, Field(strict=True, ge=1, le=MAX_SLOTS)] = Field(
        description="A device answers one period in so many."
    )
    answers_max: Annotated[int, Field(strict=True, ge=1, le=MAX_ANSWERS)] = Field(
        description="Most answers of one device for life."
    )
    value_of: ValueOf = Field(
        ValueOf.CURRENT, description="The period that a value is about: the `current` one, or the `previous` one."
    )
    late_s: Annotated[int, Field(strict=True, ge=0, le=MAX_TIME)] | None = Field(
        None,
        description="Seconds after a period for which its reports still count; default: a day, or half of the time "
        "between two periods of a device if that is less.",
    )
    start: Annotated[int, Field(strict=True, ge=0, le=MAX_TIME)] | None = Field(
        None, description="Unix time at which period 0 begins; default: the next midnight (UTC), or the next period."
    )
    replaces: DigestText | None = Field(None, description="The series whose place this one takes on its devices.")

    def assignment(self, now: int) -> Rotating:
        """What the manifest says; raises InvalidValue where reports may be late by a device's whole pause."""
        return Rotating(
            start=self._start(now),
            period_s=self.period_s,
            slots=self.slots,
            answers_max=self.answers_max,
            value_of=self.value_of,
            late_s=self._late(),
            replaces=None if self.replaces is None else CampaignId.parse(self.replaces),
        )

    def _late(self) -> int:
        if self.late_s is not None:
            return self.late_s
        return _DAY_S if self.slots == 1 else min(_DAY_S, (self.slots - 1) * self.period_s // 2)

    def _start(self, now: int) -> int:
        if self.start is None:
            whole = _DAY_S if self.period_s >= _DAY_S else self.period_s
            return -(-now // whole) * whole
        if self.replaces is None and self.start + self.period_s <= now:
            raise InvalidValue(
                f"/series/start: period 0 ended before the series is created; start at {now} or later, or leave it out",
                self.start,
            )
        return self.start


def spending(answer: PureEpsilon, series: Rotating) -> PureEpsilon:
    """What a device spends on a series in its life; raises InvalidValue where no lifetime allows it."""
    whole = answer.nano * series.answers_max
    if whole > MAX_NANO:
        raise InvalidValue(
            f"/series/answers_max: ε of {quantity(series.answers_max, 'answer')} is {exact_decimal(whole)}, at most "
            f"{exact_decimal(MAX_NANO)} is allowed for life; allow fewer answers",
            series.answers_max,
        )
    return PureEpsilon(whole)


def lasting(seconds: int) -> str:
    """A length of time in the largest unit that divides it, for example 30 days."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    if unit == "week" and seconds != size:
        size, unit = _UNITS[1]
    count = seconds // size
    return unit if count == 1 else quantity(count, unit)
