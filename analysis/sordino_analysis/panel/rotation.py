"""How often to ask: the slots of a series from a target error, and what the rates and errors then are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

from sordino_analysis.arrays import NEARLY_ZERO
from sordino_analysis.panel.series import MOST_SLOTS
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.series import most_drawn_within
from sordino_shared.quantities import quantity

# Seconds of 365 days.
YEAR_S = 365 * 86_400
# Seconds of 7 days.
WEEK_S = 7 * 86_400
# Seconds of 30 days.
MONTH_S = 30 * 86_400
# The chance of seeing a change that surveys are usually planned for.
USUAL_POWER = 0.8


@dataclass(frozen=True, kw_only=True)
class Rotation:
    """A series in numbers: `active` devices a period, each with one turn in `slots` periods and ε = `epsilon` a turn.

    `variance` is of one report's contribution to the answer. A period is answered until `late_s` after it: 0 for
    values of the current period, the series' `late_s` for those of the previous one. `answers_max` is the most answers
    of a device for life, None for any number. Raises InvalidValue for numbers that are none of a series.
    """

    epsilon: float
    variance: float
    active: int
    slots: int
    period_s: int
    late_s: int = 0
    answers_max: int | None = None

    def __post_init__(self) -> None:
        _check_positive(epsilon=self.epsilon, variance=self.variance, active=self.active, period_s=self.period_s)
        if not 1 <= self.slots <= MOST_SLOTS:
            raise InvalidValue(f"a series has 1 to {MOST_SLOTS} slots, got {self.slots}", self.slots)
        if not 0 <= self.late_s < max((self.slots - 1) * self.period_s, 1):
            raise InvalidValue(
                f"late_s is 0 or more and below the {(self.slots - 1) * self.period_s} seconds between two periods of "
                f"a device (0 where it answers every period), got {self.late_s}",
                self.late_s,
            )
        if self.answers_max is not None and self.answers_max < 1:
            raise InvalidValue(f"answers_max must be 1 or more, got {self.answers_max}", self.answers_max)

    @classmethod
    def of_target(
        cls,
        target: float,
        periods: int = 1,
        *,
        epsilon: float,
        variance: float,
        active: int,
        period_s: int,
        late_s: int = 0,
        answers_max: int | None = None,
    ) -> Rotation:
        """The most slots whose window of `periods` has standard error `target` or less: T ≤ target²·N·m/V.

        Raises InvalidValue where even T = 1 exceeds the target.
        """
        _check_positive(target=target, periods=periods, variance=variance, active=active)
        most = math.floor(target**2 * active * periods / variance * (1 + NEARLY_ZERO))
        if most < 1:
            least = math.sqrt(variance / (active * periods))
            raise InvalidValue(
                f"a standard error of {target:g} cannot be reached: with {quantity(active, 'active device')} it is "
                f"{least:.3g} where all answer every period; take a larger ε, a longer window or a larger target",
                target,
            )
        slots = min(most, MOST_SLOTS)
        return cls(
            epsilon=epsilon,
            variance=variance,
            active=active,
            slots=slots,
            period_s=period_s,
            late_s=late_s,
            answers_max=answers_max,
        )

    @property
    def reports(self) -> float:
        """Reports a period, on average."""
        return self.active / self.slots

    def epsilon_within(self, seconds: int) -> float:
        """The most ε of a device in any so many seconds: ε·min(C, ⌈(seconds + period_s + late_s)/(T·period_s)⌉).

        An early answer may follow a late one: 365 days can hold two answers where T is 365 days.
        """
        answers = most_drawn_within(seconds, self.slots * self.period_s, self.period_s + self.late_s)
        return self.epsilon * (answers if self.answers_max is None else min(answers, self.answers_max))

    @property
    def epsilon_per_year(self) -> float:
        """The most ε that a device spends in any 365 days in a row."""
        return self.epsilon_within(YEAR_S)

    def standard_error(self, periods: int = 1) -> float:
        """Of a window of so many periods, about the devices that reported: √(V/(m·n))."""
        return math.sqrt(self.variance / (periods * self.reports))

    @property
    def periods_a_week(self) -> int:
        """At least one."""
        return max(1, WEEK_S // self.period_s)

    @property
    def periods_a_month(self) -> int:
        """Of 30 days, at least one."""
        return max(1, MONTH_S // self.period_s)

    def smallest_change(self, periods: int = 1, *, power: float = USUAL_POWER, level: float = 0.95) -> float:
        """Seen with this power between two neighbouring windows: (z_{(1+level)/2} + z_power)·√(2V/(m·n)).

        The factor is 2.80 for a power of .8 at .95.
        """
        factor = float(ndtri((1 + level) / 2) + ndtri(power))
        return factor * math.sqrt(2) * self.standard_error(periods)


def _check_positive(**given: float) -> None:
    for name, value in given.items():
        if not (math.isfinite(value) and value > 0):
            raise InvalidValue(f"{name} must be a number above 0, got {value}", value)
