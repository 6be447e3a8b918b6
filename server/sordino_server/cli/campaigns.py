"""`sordino campaigns`: create, run and read campaigns of a server through its REST API."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino_server.cli.answers import answers
from sordino_server.cli.campaign_argument import CampaignArgument
from sordino_server.cli.campaign_results import print_created, status_lines, summary_lines
from sordino_server.cli.candidates import MechanismOption, ObjectiveOption, ProtocolOption
from sordino_server.cli.chart_file import ChartOption, drawn
from sordino_server.cli.compare import compare
from sordino_server.cli.creation import (
    NameOption,
    OpenOption,
    PopulationOption,
    PurposeOption,
    TextOption,
    awaited_plan,
    open_new,
    opened,
    registered,
    text_terms,
)
from sordino_server.cli.crowds import AnywayOption, check_crowd
from sordino_server.cli.estimate_text import print_estimate
from sordino_server.cli.follow_up import follow_up
from sordino_server.cli.gate_option import GateOption, gate_terms
from sordino_server.cli.output import (
    JsonOption,
    VerboseOption,
    command_group,
    console,
    progress_console,
    say,
)
from sordino_server.cli.remote import Remote, estimates_path
from sordino_server.cli.remote_command import Csv, CsvOption, Listing, Shown, remote_command
from sordino_server.cli.shuffler_options import (
    CollectorOption,
    ErrorOption,
    RouteOption,
    WeakEpsilonOption,
    check_weak_epsilon,
    collector_terms,
    route_terms,
)
from sordino_server.cli.sign import sign
from sordino_server.cli.statistics import TargetOption
from sordino_server.cli.string_search import strings
from sordino_server.cli.wait import TIMEOUT_S, Patience, TimeoutOption
from sordino_server.cli.watch import watch
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignState

app = command_group("campaigns", help="Create, open, close and read campaigns. Uses SORDINO_SERVER and SORDINO_KEY.")
_FOR_EACH = "Repeat it to set each round in order; 0: no limit."


UsersOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Number of users to predict errors and compare protocols for. It closes nothing.",
    ),
]


WorkloadOption = Annotated[Path | None, typer.Option(metavar="PATH", help="Workload file (YAML or JSON) to plan for.")]
EpsilonOption = Annotated[
    str | None, typer.Option(metavar="E", help="ε of one report, such as 1 or 0.5; with --workload.")
]
CloseAfterReports = Annotated[
    list[int] | None, typer.Option(min=0, metavar="N", help=f"Close a round after N reports. {_FOR_EACH}")
]
CloseAfterSeconds = Annotated[
    list[int] | None, typer.Option(min=0, metavar="SECONDS", help=f"Close a round after this time. {_FOR_EACH}")
]
UploadTokenOption = Annotated[
    bool, typer.Option("--upload-token", help="Accept reports only with the campaign's token, printed once.")
]
PublicOption = Annotated[
    bool, typer.Option("--public", help="Let anybody read /status/ID: purpose, ε, rounded counts, the estimate.")
]
SourcesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="NAME=URL[,URL]",
        help="A server of the campaign: the first is this one, others collect for it. Repeat it for each. Permanent.",
    ),
]
PlanRequestOption = Annotated[
    str | None, typer.Option(metavar="ID", help="Use this finished plan request instead of --workload.")
]
RoundArgument = Annotated[int, typer.Argument(min=0, metavar="INDEX", help="Index of the round, from 0.")]
SOURCES_DEADLINE_S = 86_400
SourcesDeadlineOption = Annotated[
    int, typer.Option(min=0, metavar="SECONDS", help="How long a closed round waits for the sums of its sources.")
]


app.command()(answers)
app.command()(strings)
app.command()(follow_up)
app.command()(compare)
app.command()(sign)


@app.command()
@remote_command
def create(
    remote: Remote,
    name: NameOption,
    purpose: PurposeOption,
    population: PopulationOption,
    text: TextOption = None,
    workload: WorkloadOption = None,
    epsilon: EpsilonOption = None,
    objective: ObjectiveOption = "max",
    mechanism: MechanismOption = None,
    users: UsersOption = None,
    protocol: ProtocolOption = None,
    target: TargetOption = None,
    collector: CollectorOption = None,
    target_error: ErrorOption = None,
    weak_epsilon: WeakEpsilonOption = False,
    route: RouteOption = None,
    gate: GateOption = None,
    plan_request: PlanRequestOption = None,
    close_after_reports: CloseAfterReports = None,
    close_after_s: CloseAfterSeconds = None,
    upload_token: UploadTokenOption = False,
    public: PublicOption = False,
    source: SourcesOption = None,
    sources_deadline_s: SourcesDeadlineOption = SOURCES_DEADLINE_S,
    open_now: OpenOption = False,
    anyway: AnywayOption = False,
    timeout: TimeoutOption = TIMEOUT_S,
) -> Shown:
    """Create a campaign from a workload file or from a finished plan request.

    Example:

        sordino campaigns create --name delays --population travellers \\
            --purpose "We ask how late you were." \\
            --workload delays.yaml --epsilon 1 --open

    Behind a shuffler (--route, --collector, --target-error) --epsilon is the most that a device spends. With --workload
    the command waits for the plan, whose options need it. A pairwise statistic needs --users. With --gate one report
    counts for each token.

    Where so few reports leave an answer off by more than ten points, it says so, and --open asks for --anyway.
    """
    _check_source(remote, workload, epsilon, plan_request, weak_epsilon)
    more = route_terms(route, collector) | gate_terms(gate) | text_terms(text)
    if workload is not None:
        order: dict[str, Any] = {"workload": registered(remote, workload), "epsilon": epsilon, "objective": objective}
        order |= {"mechanism": mechanism, "users": users, "protocol": protocol, "target": target}
        order |= collector_terms(collector, target_error, epsilon, weak_epsilon)
        plan_request = awaited_plan(remote, order, population, Patience(timeout))
    assert plan_request is not None
    check_crowd(remote, plan_request, users, open_now=open_now, anyway=anyway, closes_after=close_after_reports)
    terms: dict[str, Any] = {"name": name, "purpose": purpose, "population": population}
    terms |= {"plan_request": plan_request, "upload_token": upload_token, "public": public}
    terms |= {"close_after_reports": _rule(close_after_reports), "close_after_s": _rule(close_after_s)}
    terms |= {"servers": _server_terms(source), "sources_deadline_s": sources_deadline_s}
    shown = (status := remote.post("/v1/campaigns", terms | more)), partial(print_created, status)
    if open_now:
        open_new(remote, status, shown)
    return shown


def _check_source(
    remote: Remote, workload: Path | None, epsilon: str | None, plan_request: str | None, weak: bool
) -> None:
    """Raise InvalidValue unless a campaign gets its plan in one way, and for weak ε of a plan that is ready."""
    if (workload is None) == (plan_request is None) or (workload is None) != (epsilon is None):
        raise InvalidValue("give either --workload with --epsilon, or --plan-request")
    if plan_request is not None:
        planned = remote.get(f"/v1/plan-requests/{plan_request}")["order"]
        check_weak_epsilon(planned["epsilon"], weak, planned["collector"] is not None)


@app.command("list")
@remote_command
def list_campaigns(
    remote: Remote,
    state: Annotated[CampaignState | None, typer.Option(metavar="STATE", help=f"{', '.join(CampaignState)}.")] = None,
    population: Annotated[str | None, typer.Option(metavar="NAME", help="For this population.")] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Of exactly this name.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M"], metavar="DATE", help="Created from then on, UTC."),
    ] = None,
    archived: Annotated[bool, typer.Option("--archived", help="List the archived campaigns instead.")] = False,
) -> Shown:
    """List campaigns, newest first; options choose among them."""
    moment_s = None if since is None else int(since.replace(tzinfo=UTC).timestamp())
    given = {"state": state, "population": population, "name": name, "since": moment_s, "archived": archived}
    filters = {option: value for option, value in given.items() if value is not None}
    campaigns = list(remote.listed("/v1/campaigns", "campaigns", **filters))
    return {"campaigns": campaigns}, Listing.of(campaigns, "id", "state", "name", "population")


@app.command()
@remote_command
def show(remote: Remote, campaign: CampaignArgument, verbose: VerboseOption = False) -> Shown:
    """Show a campaign: its state, question, ε and predicted error, and the reports counted so far.

    With --verbose: its id, population, rounds and digests, and refused reports by reason.
    """
    status = remote.get(f"/v1/campaigns/{remote.campaign_id(campaign)}/status")
    return status, status_lines(status) if verbose else summary_lines(status)


@app.command("watch")
@remote_command
def watch_campaign(
    remote: Remote,
    campaign: CampaignArgument,
    every: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Pause between two looks.")] = 2.0,
    as_json: JsonOption = False,
) -> Shown:
    """Follow a campaign until its estimates are ready, a round fails, or Ctrl-C.

    Shows the reports counted and their rate, the rounds, and refused reports by reason. --json prints the last status.
    """
    try:
        return watch(remote, remote.campaign_id(campaign), progress_console if as_json else console, every), ()
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


# By one request without a body: the command, the last part of the path, and the help.
_ACTIONS = (
    ("close", "close", "Close a campaign: refuse later reports and compute the estimates."),
    ("cancel", "cancel", "Cancel a campaign permanently, without estimates."),
    ("archive", "archive", "Archive a campaign that is not open: `campaigns list` leaves it out. Nothing is deleted."),
    ("restore", "restore", "Restore an archived campaign: `campaigns list` has it again."),
)
_ROUND_ACTIONS = (
    ("close-round", "close", "Close a round: a worker opens the next round, or computes the estimates after the last."),
    (
        "retry-round",
        "retry",
        "Retry a closed round whose computation failed, once the cause is removed; later sums retry it by themselves.",
    ),
    ("waive-sources", "waive-sources", "Wait no longer for the sums of sources that a closed round still lacks."),
)


def _action(path: str, text: str) -> Callable[..., None]:
    def act(remote: Remote, campaign: CampaignArgument) -> Shown:
        status = remote.post(f"/v1/campaigns/{remote.campaign_id(campaign)}/{path}")
        return status, status_lines(status)

    act.__doc__ = text
    return remote_command(act)


def _round_action(path: str, text: str) -> Callable[..., None]:
    def act(remote: Remote, campaign: CampaignArgument, index: RoundArgument) -> Shown:
        status = remote.post(f"/v1/campaigns/{remote.campaign_id(campaign)}/rounds/{index}/{path}")
        return status, status_lines(status)

    act.__doc__ = text
    return remote_command(act)


@app.command("open")
@remote_command
def open_(
    remote: Remote,
    campaign: CampaignArgument,
    unwitnessed: Annotated[
        bool, typer.Option("--unwitnessed", help="Do not wait for the witnesses of the public log.")
    ] = False,
) -> Shown:
    """Open a campaign: its devices may report from now on.

    Where the server's public log has witnesses, the command waits up to 60 seconds until they saw the campaign.
    """
    status = opened(remote, remote.campaign_id(campaign), unwitnessed=unwitnessed)
    return status, status_lines(status)


for command, path, text in _ACTIONS:
    app.command(command)(_action(path, text))
for command, path, text in _ROUND_ACTIONS:
    app.command(command)(_round_action(path, text))


@app.command()
@remote_command
def delete(remote: Remote, campaign: CampaignArgument) -> Shown:
    """Delete a campaign that was never opened, with its upload tokens."""
    identifier = remote.campaign_id(campaign)
    remote.delete(f"/v1/campaigns/{identifier}")
    return {"deleted": identifier}, partial(say, f"campaign {identifier} is deleted")


@app.command()
@remote_command
def estimates(
    remote: Remote,
    campaign: CampaignArgument,
    index: Annotated[int | None, typer.Option("--round", min=0, metavar="INDEX", help="Print this round only.")] = None,
    wait: Annotated[bool, typer.Option(help="Wait until the estimates are computed.")] = True,
    timeout: TimeoutOption = TIMEOUT_S,
    as_csv: CsvOption = False,
    chart: ChartOption = None,
) -> Shown:
    """Print the estimates of a campaign or of one closed round, with their errors."""
    with drawn(chart) as picture:
        campaign = remote.campaign_id(campaign)
        path = estimates_path(campaign, index)
        if wait:
            with progress_console.status("waiting for the estimates"):
                document = remote.awaited_estimates(campaign, index, Patience(timeout))
        else:
            document = remote.get(path)
        picture.draw(document, remote, campaign)
        return document, Csv(remote.text(path, format="csv")) if as_csv else partial(print_estimate, document)


def _rule(given: list[int] | None) -> int | list[int | None] | None:
    """One number for all rounds, or one for each with 0 for a round without."""
    if not given:
        return None
    return given[0] if len(given) == 1 else [number or None for number in given]


def _server_terms(sources: list[str] | None) -> list[dict[str, Any]]:
    """Names and addresses; raises InvalidValue for text of another form."""
    found = []
    for text in sources or ():
        name, equals, urls = text.partition("=")
        if not equals or not name or not urls:
            raise InvalidValue(f"--source {text}: write NAME=URL, as in eu=https://eu.example", text)
        found.append({"name": name, "urls": urls.split(",")})
    return found
