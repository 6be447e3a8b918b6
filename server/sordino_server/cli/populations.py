"""`sordino populations`: caps on the total ε of the campaigns of one population, through the REST API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from sordino_analysis.figures import chosen
from sordino_server.cli.output import command_group, moment
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Listing, Shown, remote_command
from sordino_server.populations.names import identifier_of
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

app = command_group(
    "populations", help="Cap the total ε of all campaigns of a population, and read what they have used."
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the population, as in its campaigns.")]
NO_CAP = "none"
PerPeriodOption = Annotated[
    str | None,
    typer.Option(metavar="E", help=f"Largest ε in any --period-days days; '{NO_CAP}' removes the cap."),
]
DaysOption = Annotated[int | None, typer.Option(min=1, metavar="N", help="Length of the period in days.")]
LifetimeOption = Annotated[
    str | None, typer.Option(metavar="E", help=f"Largest ε in total; '{NO_CAP}' removes the cap.")
]


@app.command()
@remote_command
def create(
    remote: Remote,
    name: NameArgument,
    per_period: PerPeriodOption = None,
    period_days: DaysOption = None,
    lifetime: LifetimeOption = None,
    no_cap: Annotated[
        bool, typer.Option("--no-cap", help="Create it without a cap: its campaigns may ask for any total ε.")
    ] = False,
) -> Shown:
    """Create a population with its caps, before its first campaign opens.

    Example:

        sordino populations create travellers --per-period 1 --period-days 28 --lifetime 12

    Give at least one cap, or --no-cap. Requires an admin's key.
    """
    caps = _caps(per_period, period_days, lifetime)
    _check_period(caps)
    if no_cap == bool(caps):
        raise InvalidValue(
            "give a cap, as in --per-period 1 --period-days 28 --lifetime 12, or --no-cap for a population whose "
            "campaigns may ask for any total ε"
        )
    caps = caps or {"epsilon_lifetime": None}
    return _shown(remote.post("/v1/populations", {"name": name} | caps))


@app.command()
@remote_command
def update(
    remote: Remote,
    name: NameArgument,
    per_period: PerPeriodOption = None,
    period_days: DaysOption = None,
    lifetime: LifetimeOption = None,
) -> Shown:
    """Change caps for campaigns that open from now on; other caps stay.

    Requires an admin's key.
    """
    caps = _caps(per_period, period_days, lifetime)
    if not caps:
        raise InvalidValue("nothing to change: give --per-period, --period-days or --lifetime")
    before = remote.get(_path(name))
    _check_period(before | caps)
    return _shown(remote.patch(_path(name), caps, f'"{before["version"]}"'))


@app.command("list")
@remote_command
def list_populations(remote: Remote) -> Shown:
    """List populations, newest first."""
    populations = list(remote.listed("/v1/populations", "populations"))
    rows = ((_marked(each), _per_period(each), _cap(each["epsilon_lifetime"])) for each in populations)
    return {"populations": populations}, Listing(("name", "cap per period", "cap for life"), rows)


@app.command()
@remote_command
def show(remote: Remote, name: NameArgument) -> Shown:
    """Show a population: its caps, the ε used per device, what is left, when there is more, and what fits now."""
    found = remote.get(_path(name))
    return found, (*_lines(found), *_room(found))


@app.command()
@remote_command
def ledger(remote: Remote, name: NameArgument) -> Shown:
    """List the opened campaigns of a population, newest first, with the ε of each per device."""
    entries = list(remote.listed(f"{_path(name)}/ledger", "entries"))
    rows = ((entry["campaign"], chosen(entry["epsilon"]), moment(entry["opened_at"])) for entry in entries)
    return {"entries": entries}, Listing(("campaign", "ε per device", "opened at"), rows)


def _path(name: str) -> str:
    # A name from a terminal with another encoding raises here, with advice, instead of naming no population.
    name.encode()
    return f"/v1/populations/{identifier_of(name)}"


def _caps(per_period: str | None, period_days: int | None, lifetime: str | None) -> dict[str, Any]:
    caps: dict[str, Any] = {}
    if per_period is not None:
        caps["epsilon_per_period"] = None if per_period == NO_CAP else per_period
    if per_period == NO_CAP or period_days is not None:
        caps["period_days"] = period_days
    if lifetime is not None:
        caps["epsilon_lifetime"] = None if lifetime == NO_CAP else lifetime
    return caps


def _check_period(caps: dict[str, Any]) -> None:
    """The server checks the same, with the names of its API."""
    if (caps.get("epsilon_per_period") is None) != (caps.get("period_days") is None):
        raise InvalidValue(f"--per-period and --period-days go together; --per-period {NO_CAP} removes both", caps)


def _shown(population: dict[str, Any]) -> Shown:
    return population, _lines(population)


def _room(budget: dict[str, Any]) -> Iterator[str]:
    """What is left, what fits now, and when there is more; nothing of a population without caps."""
    if budget["left"] is None:
        return
    parts = [
        f"ε = {chosen(budget[name])} {words}"
        for name, words in (("left_in_period", "of the period"), ("left_for_life", "for life"))
        if budget[name] is not None
    ]
    yield f"left for one question now: ε = {chosen(budget['left'])} ({', '.join(parts)})"
    yield from map(_fit, budget["fits"])
    if budget["room"] is not None:
        epsilon = chosen(budget["room"]["epsilon"])
        yield f"more room from {moment(budget['room']['at'])} on: one question of ε = {epsilon}"


def _fit(fit: dict[str, Any]) -> str:
    often, most = fit["weekly_slots"], fit["weekly_answers"]
    found = f"fits at ε = {chosen(fit['epsilon'])}: {quantity(fit['questions'], 'question')}"
    if often is None:
        return found
    times = "" if most is None else f", {quantity(most, 'time')} at most"
    turns = "every week" if often == 1 else f"once in {quantity(often, 'week')}"
    return f"{found}, or one of every week that each device answers {turns}{times}"


def _lines(population: dict[str, Any]) -> tuple[str, ...]:
    asked = population["asked_in_period"]
    spent = "" if asked is None else f"; ε = {chosen(asked)} used in the last one"
    return (
        population["name"],
        f"cap per period: {_per_period(population)}{spent}",
        f"cap for life: {_cap(population['epsilon_lifetime'])}; ε = {chosen(population['asked'])} used",
    )


def _marked(population: dict[str, Any]) -> str:
    """The name, with a mark where no new population may have it."""
    return f"{population['name']} (a name of before)" if population["name_problem"] else str(population["name"])


def _per_period(population: dict[str, Any]) -> str:
    cap, days = _cap(population["epsilon_per_period"]), population["period_days"]
    return cap if days is None else f"{cap} in {quantity(days, 'day')}"


def _cap(epsilon: float | None) -> str:
    return "none" if epsilon is None else f"ε = {chosen(epsilon)}"
