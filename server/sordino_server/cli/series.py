"""`sordino series`: questions that come back every period, on a running server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sordino_server.cli.campaign_argument import CampaignArgument
from sordino_server.cli.campaigns import awaited_plan, opened
from sordino_server.cli.candidates import MechanismOption
from sordino_server.cli.chart_file import ChartOption, drawn
from sordino_server.cli.output import JsonOption, console, print_json, print_listing, reports_errors
from sordino_server.cli.remote import DEFAULT_SERVER, KeyOption, Remote, ServerOption
from sordino_server.cli.series_file import read_series
from sordino_server.cli.series_results import print_rates, print_series, print_terms, rates
from sordino_server.cli.wait import TIMEOUT_S, Patience, TimeoutOption

app = typer.Typer(
    name="series",
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Ask the same question every period. Uses SORDINO_SERVER and SORDINO_KEY.",
    no_args_is_help=True,
)


@app.command()
@reports_errors
def create(
    file: Annotated[Path, typer.Option(metavar="PATH", help="Workload file (YAML or JSON) with a `series`.")],
    name: Annotated[str, typer.Option(metavar="TEXT", help="Name of the series.")],
    purpose: Annotated[
        str, typer.Option(metavar="TEXT", help="Text shown to device owners; how often they answer is added.")
    ],
    population: Annotated[str, typer.Option(metavar="NAME", help="Population whose devices answer.")],
    epsilon: Annotated[str, typer.Option(metavar="E", help="ε of one answer, such as 1 or 0.5.")],
    mechanism: MechanismOption = None,
    active: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Devices active in a period, to predict errors for.")
    ] = None,
    upload_token: Annotated[
        bool, typer.Option("--upload-token", help="Accept reports only with the series' token, printed once.")
    ] = False,
    open_now: Annotated[bool, typer.Option("--open", help="Open the series immediately.")] = False,
    timeout: TimeoutOption = TIMEOUT_S,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a series from a workload file with its terms.

    Example:

        sordino series create --file versions.yaml --name versions --population app \\
            --purpose "We ask which version you run." --epsilon 1 --active 1000000 --open

    The file has the queries and, for example, `series: {every: day, slots: 30, answers: 12, late: 2d}`.
    """
    workload, terms = read_series(file)
    with Remote(server, key) as remote:
        registered = remote.post("/v1/workloads", workload)
        order = {"workload": registered["id"], "epsilon": epsilon, "objective": "max", "mechanism": mechanism}
        plan = awaited_plan(remote, order, population, Patience(timeout))
        campaign = {"name": name, "purpose": purpose, "population": population, "plan_request": plan, "series": terms}
        status: dict[str, Any] = remote.post("/v1/campaigns", campaign | {"upload_token": upload_token})
        try:
            variance = remote.get(f"/v1/plan-requests/{plan}")["variance"]
            status |= {"rates": rates(status["series"], variance, active)}
            if open_now:
                status |= opened(remote, status["id"])
        finally:
            # The series exists even if it cannot be opened, and its token is shown this once.
            _print(status, as_json)


@app.command("list")
@reports_errors
def list_series(server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False) -> None:
    """List series, newest first."""
    with Remote(server, key) as remote:
        found = list(remote.listed("/v1/campaigns", "campaigns", series="true"))
    if as_json:
        print_json({"series": found})
        return
    columns = ("id", "state", "name", "population")
    print_listing(columns, ([one[name] for name in columns] for one in found))


@app.command()
@reports_errors
def show(
    series: CampaignArgument, server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False
) -> None:
    """Show a series: its terms, its state and the reports counted so far."""
    with Remote(server, key) as remote:
        _print(remote.get(f"/v1/campaigns/{remote.campaign_id(series)}/status"), as_json)


@app.command()
@reports_errors
def pause(
    series: CampaignArgument, server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False
) -> None:
    """Pause a series: devices answer nothing until it is resumed."""
    _act("pause", series, server, key, as_json)


@app.command()
@reports_errors
def resume(
    series: CampaignArgument, server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False
) -> None:
    """Resume a paused series."""
    _act("resume", series, server, key, as_json)


@app.command()
@reports_errors
def end(
    series: CampaignArgument, server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False
) -> None:
    """End a series permanently: its periods so far are estimated."""
    _act("close", series, server, key, as_json)


@app.command()
@reports_errors
def estimates(
    series: CampaignArgument,
    first: Annotated[int | None, typer.Option("--from", min=0, metavar="PERIOD", help="First period.")] = None,
    last: Annotated[int | None, typer.Option("--to", min=0, metavar="PERIOD", help="Last period.")] = None,
    window: Annotated[int, typer.Option(min=1, metavar="N", help="Periods of a window.")] = 7,
    by: Annotated[
        Literal["reports", "periods"], typer.Option(metavar="reports|periods", help="What weighs the periods.")
    ] = "reports",
    trend: Annotated[bool, typer.Option("--trend", help="Add the smoothed line.")] = False,
    chart: ChartOption = None,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the estimates of the closed periods, of windows of them and of changes between windows."""
    options: dict[str, Any] = {"from": first, "to": last, "window": window, "by": by, "trend": str(trend).lower()}
    given = {name: value for name, value in options.items() if value is not None}
    with Remote(server, key) as remote, drawn(chart) as picture:
        series = remote.campaign_id(series)
        document = remote.get(f"/v1/campaigns/{series}/series", **given)
        picture.draw("sordino_server.series.picture", document, remote, series)
    if as_json:
        print_json(document)
    else:
        print_series(document)


def _act(action: str, series: str, server: str, key: str | None, as_json: bool) -> None:
    with Remote(server, key) as remote:
        _print(remote.post(f"/v1/campaigns/{remote.campaign_id(series)}/{action}"), as_json)


def _print(status: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(status)
        return
    print_terms(status)
    if "rates" in status:
        print_rates(status["rates"])
    if status.get("upload_token"):
        console.print(f"upload token for the devices, shown only once: {status['upload_token']}", highlight=False)
