"""Series from plans and aggregates: estimates of periods, windows, changes; how many slots a target error allows."""

from __future__ import annotations

from collections.abc import Mapping

from sordino_analysis.analyst.arguments import NONE, NUMBER, WHOLE, Kind, takes
from sordino_analysis.analyst.estimates import PLAN
from sordino_analysis.analyst.plans import Plan
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.panel.rotation import Rotation
from sordino_analysis.panel.series import SeriesEstimates, series_estimator
from sordino_shared.errors import InvalidValue


def _are_periods(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    return all(WHOLE.accepts(period) and isinstance(held, Aggregate) for period, held in value.items())


_PERIODS = Kind("a mapping of whole numbers of periods to an Aggregate each", _are_periods)


@takes(plan=PLAN, periods=_PERIODS, slots=WHOLE, level=NUMBER, blanket=WHOLE)
def series(
    plan: Plan, periods: Mapping[int, Aggregate], *, slots: int, level: float = 0.95, blanket: int = 0
) -> SeriesEstimates:
    """The periods of one plan by their numbers; `slots` is T: each device has one turn in T periods.

    `period`, `window`, `windows`, `change`, `changes` and `trend` of it estimate. Intervals have probability `level`.
    Of the reports of each period `blanket` are random ones of a shuffler, which are subtracted.
    Raises EstimationError for a plan whose domain is too large for a series, InvalidValue for other numbers.

    >>> days = {day: Aggregate(600, np.array([300, 200, 100 + day])) for day in range(14)}
    >>> week = series(three, days, slots=30).window(7, 13)
    >>> week.target, week.reports
    ('active device-periods of periods 7 to 13', 4200)
    """
    return SeriesEstimates.of(series_estimator(plan.device, plan.analyst), periods, slots, level, blanket)


@takes(
    plan=PLAN,
    active=WHOLE,
    target=NUMBER | NONE,
    slots=WHOLE | NONE,
    periods=WHOLE,
    period_s=WHOLE,
    late_s=WHOLE,
    answers_max=WHOLE | NONE,
)
def rotation(
    plan: Plan,
    *,
    active: int,
    target: float | None = None,
    slots: int | None = None,
    periods: int = 1,
    period_s: int,
    late_s: int = 0,
    answers_max: int | None = None,
) -> Rotation:
    """What a series of this plan costs and shows with `active` devices a period, for a target error or given slots.

    `target` is the standard error of a window of so many `periods`, for the answer with the largest variance: the
    Rotation has the most slots that reach it. `late_s` is how long after its period an answer may come, where the
    series asks about the previous period; `answers_max` the most answers of a device. Raises InvalidValue where none
    do, or unless one of the two is given.

    >>> rotation(three, active=1_000_000, target=0.01, period_s=86_400).slots
    54
    """
    if (target is None) == (slots is None):
        raise InvalidValue("give either a target error or the slots", (target, slots))
    variance = float(plan.variances.max())
    if target is not None:
        return Rotation.of_target(
            target,
            periods,
            epsilon=plan.epsilon,
            variance=variance,
            active=active,
            period_s=period_s,
            late_s=late_s,
            answers_max=answers_max,
        )
    return Rotation(
        epsilon=plan.epsilon,
        variance=variance,
        active=active,
        slots=slots or 0,
        period_s=period_s,
        late_s=late_s,
        answers_max=answers_max,
    )
