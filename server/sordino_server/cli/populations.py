"""`sordino populations`: caps of ε over all campaigns that ask the same devices, over the REST API of a server."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sordino_server.cli.output import JsonOption, console, moment, print_json, print_listing, reports_errors
from sordino_server.cli.remote import DEFAULT_SERVER, KeyOption, Remote, ServerOption
from sordino_server.populations.names import identifier_of
from sordino_shared.errors import InvalidValue

app = typer.Typer(
    name="populations",
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Cap the ε that campaigns may ask of a population's devices, and read what was asked.",
    no_args_is_help=True,
)
NameArgument = Annotated[str, typer.Argument(help="Name of the population, as campaigns state it.")]
NO_CAP = "none"
PerPeriodOption = Annotated[
    str | None, typer.Option(help=f"Most ε in any --period-days days; '{NO_CAP}' takes this cap away.")
]
DaysOption = Annotated[int | None, typer.Option(min=1, help="Length of the period in days.")]
LifetimeOption = Annotated[str | None, typer.Option(help=f"Most ε ever; '{NO_CAP}' takes this cap away.")]


@app.command()
@reports_errors
def create(
    name: NameArgument,
    per_period: PerPeriodOption = None,
    period_days: DaysOption = None,
    lifetime: LifetimeOption = None,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a population with its caps, before its first campaign opens. Needs an admin's key."""
    with Remote(server, key) as remote:
        caps = _caps(per_period, period_days, lifetime)
        _check_period(caps)
        _print(remote.post("/v1/populations", {"name": name} | caps), as_json)


@app.command()
@reports_errors
def update(
    name: NameArgument,
    per_period: PerPeriodOption = None,
    period_days: DaysOption = None,
    lifetime: LifetimeOption = None,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change caps, for campaigns that open from now on; what is not given stays. Needs an admin's key."""
    caps = _caps(per_period, period_days, lifetime)
    if not caps:
        raise InvalidValue("nothing to change: give --per-period, --period-days or --lifetime")
    with Remote(server, key) as remote:
        before = remote.get(_path(name))
        _check_period(before | caps)
        _print(remote.patch(_path(name), caps, f'"{before["version"]}"'), as_json)


@app.command("list")
@reports_errors
def list_populations(server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False) -> None:
    """List populations, newest first."""
    with Remote(server, key) as remote:
        populations = list(remote.listed("/v1/populations", "populations"))
    if as_json:
        print_json({"populations": populations})
        return
    rows = ((each["name"], _per_period(each), _cap(each["epsilon_lifetime"])) for each in populations)
    print_listing(("name", "cap per period", "cap for life"), rows)


@app.command()
@reports_errors
def show(
    name: NameArgument, server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False
) -> None:
    """Show a population: its caps, and how much was asked of each of its devices."""
    with Remote(server, key) as remote:
        _print(remote.get(_path(name)), as_json)


@app.command()
@reports_errors
def ledger(
    name: NameArgument, server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False
) -> None:
    """List the campaigns that opened for a population, newest first, with the ε that each asked of a device."""
    with Remote(server, key) as remote:
        entries = list(remote.listed(f"{_path(name)}/ledger", "entries"))
    if as_json:
        print_json({"entries": entries})
        return
    rows = ((entry["campaign"], f"{entry['epsilon']:g}", moment(entry["opened_at"])) for entry in entries)
    print_listing(("campaign", "ε per device", "opened at"), rows)


def _path(name: str) -> str:
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
    """The server asks the same, by the names that its API has."""
    if (caps.get("epsilon_per_period") is None) != (caps.get("period_days") is None):
        raise InvalidValue(f"--per-period and --period-days go together; --per-period {NO_CAP} takes both away", caps)


def _print(population: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(population)
        return
    console.print(population["name"], highlight=False, markup=False)
    asked = population["asked_in_period"]
    spent = "" if asked is None else f"; ε = {asked:g} was asked in the last one"
    console.print(f"cap per period: {_per_period(population)}{spent}", highlight=False)
    console.print(
        f"cap for life: {_cap(population['epsilon_lifetime'])}; ε = {population['asked']:g} was asked", highlight=False
    )


def _per_period(population: dict[str, Any]) -> str:
    cap, days = _cap(population["epsilon_per_period"]), population["period_days"]
    return cap if days is None else f"{cap} in {days} days"


def _cap(epsilon: float | None) -> str:
    return "none" if epsilon is None else f"ε = {epsilon:g}"
