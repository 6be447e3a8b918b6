"""What `sordino series` prints: terms, rates and estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sordino_analysis.figures import chosen, figure
from sordino_server.cli.output import console, moment
from sordino_shared.quantities import quantity

if TYPE_CHECKING:
    from sordino_shared.protocol import Rotating

DAY_S = 86_400
# The longest time of an owner's cap, as the SDK takes it.
MOST_CAP_DAYS = 3660


def rates(series: dict[str, Any], variance: float, active: int | None) -> dict[str, Any]:
    """What a series costs a device, and with a number of active devices what it shows."""
    # Other commands need no numbers and should not wait for their libraries.
    from sordino_analysis.panel.rotation import Rotation

    law = _law(series)
    found = Rotation(
        epsilon=series["epsilon"],
        variance=variance,
        active=active or 1,
        slots=law.slots,
        period_s=law.period_s,
        late_s=law.answering_s - law.period_s,
        answers_max=law.answers_max,
    )
    answers = law.fewest_for_window(DAY_S)
    cost = {
        "epsilon_per_year": found.epsilon_per_year,
        "epsilon_for_life": series["epsilon"] * law.answers_max,
        "cap_epsilon": series["epsilon"] * answers,
        "cap_days": min(law.longest_window_s(answers) // DAY_S, MOST_CAP_DAYS),
    }
    if active is None:
        return cost
    week, month = found.periods_a_week, found.periods_a_month
    return cost | {
        "active": active,
        "reports_per_period": found.reports,
        "error_of_period": found.standard_error(),
        "error_of_week": found.standard_error(week),
        "error_of_month": found.standard_error(month),
        "smallest_change_between_periods": found.smallest_change(),
        "smallest_change_between_weeks": found.smallest_change(week),
    }


def _law(series: dict[str, Any]) -> Rotating:
    from sordino_shared.protocol import Rotating, ValueOf

    return Rotating(
        start=series["start"],
        period_s=series["period_s"],
        slots=series["slots"],
        answers_max=series["answers_max"],
        value_of=ValueOf(series["value_of"]),
        late_s=series["late_s"],
        replaces=None,
    )


def print_rates(rates: dict[str, Any]) -> None:
    """Cost and errors in a few lines."""
    per_year, life = rates["epsilon_per_year"], rates["epsilon_for_life"]
    console.print(
        f"a device spends at most ε = {chosen(per_year)} in any 365 days, ε = {chosen(life)} for life", highlight=False
    )
    console.print(
        f"an owner's cap of ε = {chosen(rates['cap_epsilon'])} in {quantity(rates['cap_days'], 'day')} or less refuses "
        "no answer of this series; over a longer time some are refused",
        highlight=False,
    )
    if "active" not in rates:
        console.print("give --active to see predicted errors", highlight=False)
        return
    period, week, month = (figure(rates[f"error_of_{span}"], 3) for span in ("period", "week", "month"))
    console.print(
        f"with {quantity(rates['active'], 'active device')}, standard errors: {period} a period, {week} a week, "
        f"{month} a month",
        highlight=False,
    )
    changes = [rates[f"smallest_change_between_{span}"] for span in ("periods", "weeks")]
    console.print(
        f"changes seen with 80 % power: {figure(changes[0], 3)} between periods, {figure(changes[1], 3)} between weeks",
        highlight=False,
    )


def _print_shuffler(status: dict[str, Any], series: dict[str, Any]) -> None:
    """What the shuffler of a series leaves the server to learn, and whether its first batch is missing."""
    mixed = series["collector"]
    if mixed is None:
        return
    console.print(
        f"{quantity(mixed['answers'], 'answer')} of a device together: (ε {chosen(mixed['epsilon'])}, δ "
        f"{chosen(mixed['delta'])}) against this server, as long as {status['shuffler']} adds its random reports",
        highlight=False,
        markup=False,
    )
    for name in series["waiting_for"]:
        console.print(
            f"waiting for the first batch of {name}, which is due",
            highlight=False,
            markup=False,
        )


def print_terms(status: dict[str, Any]) -> None:
    """A series with its terms and its last periods."""
    series = status["series"]
    if series is None:
        console.print(f"campaign {status['id']} is no series; see `sordino campaigns show`", soft_wrap=True)
        return
    state = "paused" if series["paused"] else status["state"]
    console.print(f"series {status['id']}", highlight=False, soft_wrap=True)
    console.print(f"{status['name']}, for {status['population']}: {state}", highlight=False, markup=False)
    console.print(
        f"one answer of ε = {chosen(series['epsilon'])} in {quantity(series['slots'], 'period')} of "
        f"{series['period_s']:,} s, at most {series['answers_max']}; value of the {series['value_of']} period",
        highlight=False,
    )
    console.print(f"period 0 begins {moment(series['start'])}; now period {series['period']}", highlight=False)
    _print_shuffler(status, series)
    for each in status["rounds"][-7:]:
        error = f"; {each['error']}" if each["error"] else ""
        console.print(
            f"period {each['index']}: {each['state']}, {quantity(each['reports'], 'report')}{error}", highlight=False
        )
    for reason, count in status["refusals"].items():
        console.print(f"refused, {reason}: {count}", highlight=False)
