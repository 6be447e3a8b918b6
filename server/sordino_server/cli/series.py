"""`sordino series`: questions that come back every period, on a running server."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sordino_server.cli.campaign_argument import CampaignArgument
from sordino_server.cli.candidates import MechanismOption
from sordino_server.cli.chart_file import ChartOption, drawn
from sordino_server.cli.creation import PopulationOption, TextOption, awaited_plan, open_new, text_terms
from sordino_server.cli.crowds import AnywayOption, check_crowd
from sordino_server.cli.estimate_text import print_estimate
from sordino_server.cli.output import command_group, console
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Csv, Listing, Shown, Unfinished, remote_command
from sordino_server.cli.series_file import read_series
from sordino_server.cli.series_results import print_rates, print_terms, rates
from sordino_server.cli.shuffler_options import (
    CollectorOption,
    ErrorOption,
    RouteOption,
    WeakEpsilonOption,
    collector_terms,
    route_terms,
)
from sordino_server.cli.wait import TIMEOUT_S, Patience, TimeoutOption

app = command_group("series", help="Ask the same question every period. Uses SORDINO_SERVER and SORDINO_KEY.")


@app.command()
@remote_command
def create(
    remote: Remote,
    file: Annotated[Path, typer.Option(metavar="PATH", help="Workload file (YAML or JSON) with a `series`.")],
    name: Annotated[str, typer.Option(metavar="TEXT", help="Name of the series.")],
    purpose: Annotated[
        str, typer.Option(metavar="TEXT", help="Text shown to device owners; how often they answer is added.")
    ],
    population: PopulationOption,
    epsilon: Annotated[str, typer.Option(metavar="E", help="ε of one answer, such as 1 or 0.5.")],
    text: TextOption = None,
    mechanism: MechanismOption = None,
    active: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Devices active in a period, to predict errors for.")
    ] = None,
    collector: CollectorOption = None,
    target_error: ErrorOption = None,
    weak_epsilon: WeakEpsilonOption = False,
    route: RouteOption = None,
    upload_token: Annotated[
        bool, typer.Option("--upload-token", help="Accept reports only with the series' token, printed once.")
    ] = False,
    open_now: Annotated[bool, typer.Option("--open", help="Open the series immediately.")] = False,
    anyway: AnywayOption = False,
    timeout: TimeoutOption = TIMEOUT_S,
) -> Shown:
    """Create a series from a workload file with its terms.

    Example:

        sordino series create --file versions.yaml --name versions --population app \\
            --purpose "We ask which version you run." --epsilon 1 --active 1000000 --open

    The file has the queries and, for example, `series: {every: day, slots: 30, answers: 12, late: 2d}`. Behind a
    shuffler (--route, --collector, --target-error) --epsilon is the most that a device spends on an answer, and each
    period has a batch of its own. Where a period's reports leave an answer off by more than ten points, it says so, and
    --open asks for --anyway.
    """
    workload, terms = read_series(file)
    routed = route_terms(route, collector)
    registered = remote.post("/v1/workloads", workload)
    order = {"workload": registered["id"], "epsilon": epsilon, "objective": "max", "mechanism": mechanism}
    order |= collector_terms(collector, target_error, epsilon, weak_epsilon)
    plan = awaited_plan(remote, order, population, Patience(timeout))
    reports = None if active is None else active // int(terms["slots"])
    check_crowd(remote, plan, reports, open_now=open_now, anyway=anyway)
    campaign = {"name": name, "purpose": purpose, "population": population, "plan_request": plan, "series": terms}
    campaign |= {"upload_token": upload_token} | routed | text_terms(text)
    status: dict[str, Any] = remote.post("/v1/campaigns", campaign)
    shown = status, partial(_print, status)
    try:
        variance = remote.get(f"/v1/plan-requests/{plan}")["variance"]
        status |= {"rates": rates(status["series"], variance, active)}
    except BaseException as error:
        # The series exists, and its token is shown this once.
        raise Unfinished(shown, error) from error
    if open_now:
        open_new(remote, status, shown)
    return shown


@app.command("list")
@remote_command
def list_series(remote: Remote) -> Shown:
    """List series, newest first."""
    found = list(remote.listed("/v1/campaigns", "campaigns", series="true"))
    return {"series": found}, Listing.of(found, "id", "state", "name", "population")


@app.command()
@remote_command
def show(remote: Remote, series: CampaignArgument) -> Shown:
    """Show a series: its terms, its state and the reports counted so far."""
    status = remote.get(f"/v1/campaigns/{remote.campaign_id(series)}/status")
    return status, partial(_print, status)


@app.command()
@remote_command
def pause(remote: Remote, series: CampaignArgument) -> Shown:
    """Pause a series: devices answer nothing until it is resumed."""
    return _changed(remote, series, "pause")


@app.command()
@remote_command
def resume(remote: Remote, series: CampaignArgument) -> Shown:
    """Resume a paused series."""
    return _changed(remote, series, "resume")


@app.command()
@remote_command
def end(remote: Remote, series: CampaignArgument) -> Shown:
    """End a series permanently: its periods so far are estimated."""
    return _changed(remote, series, "close")


@app.command()
@remote_command
def estimates(
    remote: Remote,
    series: CampaignArgument,
    first: Annotated[int | None, typer.Option("--from", min=0, metavar="PERIOD", help="First period.")] = None,
    last: Annotated[int | None, typer.Option("--to", min=0, metavar="PERIOD", help="Last period.")] = None,
    window: Annotated[int, typer.Option(min=1, metavar="N", help="Periods of a window.")] = 7,
    by: Annotated[
        Literal["reports", "periods"], typer.Option(metavar="reports|periods", help="What weighs the periods.")
    ] = "reports",
    trend: Annotated[bool, typer.Option("--trend", help="Add the smoothed line.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table as CSV.")] = False,
    chart: ChartOption = None,
) -> Shown:
    """Print the estimates of the closed periods, of windows of them and of changes between windows.

    Example:

        sordino series estimates versions --window 7 --csv > versions.csv
    """
    options: dict[str, Any] = {"from": first, "to": last, "window": window, "by": by, "trend": str(trend).lower()}
    given = {name: value for name, value in options.items() if value is not None}
    with drawn(chart) as picture:
        series = remote.campaign_id(series)
        path = f"/v1/campaigns/{series}/series"
        document = remote.get(path, **given)
        picture.draw(document, remote, series)
        if as_csv:
            return document, Csv(remote.text(path, format="csv", **given))
    return document, partial(print_estimate, document)


def _changed(remote: Remote, series: str, action: str) -> Shown:
    status = remote.post(f"/v1/campaigns/{remote.campaign_id(series)}/{action}")
    return status, partial(_print, status)


def _print(status: dict[str, Any]) -> None:
    print_terms(status)
    if "rates" in status:
        print_rates(status["rates"])
    if status.get("upload_token"):
        console.print(f"upload token for the devices, shown only once: {status['upload_token']}", highlight=False)
