"""`sordino demo`: run a whole campaign on this machine, with real flights on simulated devices."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sordino_analysis.charts import AnswerChart
from sordino_analysis.figures import chosen, figure
from sordino_analysis.kinds.comparison import TruthComparison
from sordino_analysis.kinds.specifications import parse_question
from sordino_analysis.questions.linear import parse_specification
from sordino_server.cli.candidates import MechanismOption
from sordino_server.cli.output import JsonOption, VerboseOption, reports_errors
from sordino_server.cli.simulation.browser_run import USERS as BROWSER_USERS
from sordino_server.cli.simulation.browser_run import BrowserDemo
from sordino_server.cli.simulation.campaign import CampaignResult, CampaignTerms, check_users
from sordino_server.cli.simulation.presented_run import ChartOfResult, PresentedRun
from sordino_server.cli.simulation.presented_series import present_series
from sordino_server.cli.simulation.presented_shuffled import present_shuffled
from sordino_server.cli.simulation.run import RemoteServer, TemporaryServerKeyOption, TemporaryServerOption
from sordino_server.cli.simulation.shuffled_run import USERS as SHUFFLED_USERS
from sordino_server.cli.simulation.summary import answer_chart
from sordino_server.cli.simulation.working_folder import check_writable
from sordino_server.cli.unused_options import refuse_given
from sordino_server.demo.flight_statistics import (
    FlightStatistic,
    device_values,
    raw_truth,
    statistic_specification,
)
from sordino_server.demo.flights import (
    ATTRIBUTE,
    DelayQueries,
    delay_edges,
    delay_specification,
    draw_delays,
    draw_flights,
    flight_values,
    rule_specification,
)
from sordino_shared.guarantees import PureEpsilon, check_round_guarantee
from sordino_shared.quantities import quantity

APPS = 200
_USERS = 50_000
# On a slow machine the search for a kernel ends here, with the best so far; prefix and histogram need a third of it.
_SEARCH_S = 20.0
_PURPOSE = (
    "Your device sends how late its flight arrived, with random noise added so that nobody learns your delay. "
    "The airport learns how late flights are overall."
)
_PAIR_PURPOSE = (
    "Your device sends something about its flight, with random noise added so that nobody learns it. "
    "The airport learns how flights compare with one another."
)
_RULE_PURPOSE = (
    "Your device sends one bit about its flight, with random noise added so that nobody learns it. "
    "The airport learns which flights arrive late."
)
_LEARN_EPSILON = 2.0
_POPULATION = "flights from New York in 2013"


WorkloadOption = Annotated[
    DelayQueries, typer.Option(metavar="KIND", help=f"Queries of the delays: {', '.join(DelayQueries)}.")
]
# Options of the default question alone.
_OF_DELAYS = ("workload", "bins", "mechanism", "statistic", "chart")

StatisticOption = Annotated[
    FlightStatistic | None,
    typer.Option(
        metavar="NAME",
        help=f"Estimate a pairwise statistic in all its rounds, without a chart: {', '.join(FlightStatistic)}.",
    ),
]

EpsilonOption = Annotated[
    float | None, typer.Option(metavar="E", help="ε per device for the campaign; default 1, with --learn 2.")
]
SeriesOption = Annotated[
    int | None, typer.Option(min=1, max=60, metavar="DAYS", help="Run a series of so many days, each of a few seconds.")
]
LearnOption = Annotated[
    bool, typer.Option("--learn", help="Find out which flights arrive late: carrier, hour, month and origin.")
]
ShufflerOption = Annotated[
    bool, typer.Option("--shuffler", help="Send the reports through a second program, a shuffler, to the server.")
]

BrowserOption = Annotated[
    bool, typer.Option("--browser", help="Serve a page on which you answer, too, from your browser.")
]
PortOption = Annotated[
    int, typer.Option(min=0, max=65535, metavar="N", help="Port of the page of --browser; 0: a free one.")
]
PageOption = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="With --browser: a page of yours, as examples/browser is one.")
]

UsersOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Number of simulated devices, one flight each; default 50,000, --shuffler and --browser 3,000.",
    ),
]
BinsOption = Annotated[int, typer.Option(metavar="N", help="Number of bins of the delays, 2 to 240.")]
SeedOption = Annotated[
    int, typer.Option(min=0, metavar="N", help="Seed of the drawn flights, the plan and the devices.")
]
ChartOption = Annotated[Path, typer.Option(metavar="PATH", help="Write the chart (SVG) to this file.")]
KeepOption = Annotated[
    bool, typer.Option("--keep", help="Keep database, log, ledgers and estimates, and show them in the console.")
]
ConsoleOption = Annotated[
    str | None,
    typer.Option("--console", metavar="URL", help="Print a sign-in link for the console of --server at this URL."),
]


@reports_errors
def demo(
    context: typer.Context,
    users: UsersOption = None,
    epsilon: EpsilonOption = None,
    workload: WorkloadOption = DelayQueries.PREFIX,
    bins: BinsOption = 64,
    mechanism: MechanismOption = None,
    statistic: StatisticOption = None,
    series: SeriesOption = None,
    learn: LearnOption = False,
    shuffler: ShufflerOption = False,
    browser: BrowserOption = False,
    port: PortOption = 0,
    page: PageOption = None,
    seed: SeedOption = 0,
    server: TemporaryServerOption = None,
    key: TemporaryServerKeyOption = None,
    chart: ChartOption = Path("sordino-demo.svg"),
    keep: KeepOption = False,
    console: ConsoleOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a whole campaign on this machine: real server, simulated devices, real flight delays.

    Example:

        sordino demo --users 10000 --workload histogram

    Starts `sordino serve` with a new SQLite database, or uses --server. The demo plans a mechanism, opens a campaign,
    sends the devices' reports, closes it and compares the estimates with the truth. The first 200 devices run the SDK
    as an app does and draw from the operating system's generator, so two runs with the same seed differ slightly.

    --series DAYS asks every day, one answer of a device in seven days; a version is released in the middle.

    With --keep on a terminal the server runs on at the end: the command prints the console's address with a link that
    signs in once, within 60 seconds, on this machine, and another link after every Enter.

    --shuffler sends sealed reports through a `sordino-shuffler` of its own, and says how many users that saves.

    --browser runs until Ctrl-C: simulated devices answer, then you, on a page that it prints the address of. The page
    shows what would be sent, your account of ε, and what the server learnt.
    """
    if browser:
        _demo_browser(context, users, epsilon, seed, port, page, as_json)
        return
    refuse_given(context, ("port", "page"), "only --browser serves a page")
    run = PresentedRun(
        apps=APPS, keep=keep, remote=RemoteServer.of(server, key), verbose=verbose, as_json=as_json,
        shows_console=True, console_address=console,
    )  # fmt: skip
    if shuffler:
        _demo_shuffled(context, run, users, seed)
        return
    _demo_flights(
        context, run, _USERS if users is None else users, epsilon, seed, series=series, learn=learn,
        statistic=statistic, curve=DelayCurve(workload, bins), mechanism=mechanism, chart=chart,
    )  # fmt: skip


def _demo_flights(
    context: typer.Context,
    run: PresentedRun,
    users: int,
    epsilon: float | None,
    seed: int,
    *,
    series: int | None,
    learn: bool,
    statistic: FlightStatistic | None,
    curve: DelayCurve,
    mechanism: str | None,
    chart: Path,
) -> None:
    """The question that the options choose."""
    check_users(users)
    epsilon = (_LEARN_EPSILON if learn else 1.0) if epsilon is None else epsilon
    check_round_guarantee(PureEpsilon.of(epsilon))
    if series is not None:
        refuse_given(context, (*_OF_DELAYS, "learn"), "a series does not use it")
        present_series(run, series, users, epsilon, seed)
    elif learn:
        refuse_given(context, _OF_DELAYS, "--learn compares rules")
        _demo_rules(run, users, epsilon, seed)
    elif statistic is not None:
        refuse_given(context, ("workload", "bins", "mechanism", "chart"), "a pairwise statistic does not use it")
        _demo_statistic(run, statistic, users, epsilon, seed)
    else:
        _demo_delays(run, curve, users, epsilon, seed, mechanism, chart)


def _demo_browser(
    context: typer.Context,
    users: int | None,
    epsilon: float | None,
    seed: int,
    port: int,
    page: Path | None,
    as_json: bool,
) -> None:
    others = ("series", "learn", "shuffler", "server", "key", "keep", "console", "verbose")
    refuse_given(context, (*_OF_DELAYS, *others), "--browser asks one question of a server of its own")
    epsilon = 1.0 if epsilon is None else epsilon
    check_round_guarantee(PureEpsilon.of(epsilon))
    users = BROWSER_USERS if users is None else users
    BrowserDemo(users=users, epsilon=epsilon, seed=seed, port=port, page=page, as_json=as_json).run()


def _demo_shuffled(context: typer.Context, run: PresentedRun, users: int | None, seed: int) -> None:
    others = ("epsilon", "series", "learn", "server", "key", "keep", "console")
    refuse_given(context, (*_OF_DELAYS, *others), "--shuffler asks one question of a server of its own")
    users = SHUFFLED_USERS if users is None else users
    check_users(users)
    present_shuffled(run, users, seed)


@dataclass(frozen=True)
class DelayCurve:
    """What is asked of the delays."""

    queries: DelayQueries
    bins: int


def _demo_delays(
    run: PresentedRun,
    curve: DelayCurve,
    users: int,
    epsilon: float,
    seed: int,
    mechanism: str | None,
    chart: Path,
) -> None:
    """The delays themselves."""
    workload, bins = curve.queries, curve.bins
    delay_edges(bins)
    check_writable(chart)
    order = {"epsilon": epsilon, "objective": "max", "mechanism": mechanism, "users": users, "seed": seed}
    terms = CampaignTerms(
        question=parse_question(delay_specification(workload, bins)),
        plan=order | {"time_limit": _SEARCH_S},
        name="arrival delays",
        purpose=_PURPOSE,
        population=_POPULATION,
    )
    run.once(
        terms,
        draw_delays(users, seed).tolist(),
        chart=ChartOfResult(path=chart, drawn=lambda result: _chart(result, workload, bins)),
        fields={"workload": workload.value, "bins": bins, "seed": seed},
    )


def _demo_rules(run: PresentedRun, users: int, epsilon: float, seed: int) -> None:
    """Which rule predicts a late arrival; fails where its statement is not true of the drawn flights."""
    terms = CampaignTerms(
        question=parse_question(rule_specification()),
        plan={"epsilon": epsilon, "objective": "max", "users": users, "seed": seed, "time_limit": _SEARCH_S},
        name="which flights are late",
        purpose=_RULE_PURPOSE,
        population=_POPULATION,
    )
    if not run.once(terms, flight_values(draw_flights(users, seed)), fields={"seed": seed}):
        raise typer.Exit(1)


def _demo_statistic(run: PresentedRun, statistic: FlightStatistic, users: int, epsilon: float, seed: int) -> None:
    flights = draw_flights(users, seed)
    terms = CampaignTerms(
        question=parse_question(statistic_specification(statistic)),
        plan={"epsilon": epsilon, "users": users, "seed": seed, "time_limit": _SEARCH_S, "effort": "quick"},
        name=f"{statistic} of flights",
        purpose=_PAIR_PURPOSE,
        population=_POPULATION,
    )
    values = device_values(statistic, flights)
    raw = raw_truth(statistic, flights)
    run.once(terms, values, fields={"seed": seed, "raw_truth": raw}, remarks=lambda result: _without_bins(result, raw))


def _without_bins(result: CampaignResult, raw: float) -> list[str]:
    gap = float(result.comparison.truth[0]) - raw
    return [f"truth without bins: {figure(raw, 5)}; binning moves it by {figure(gap, 2)}"]


def _chart(result: CampaignResult, workload: DelayQueries, bins: int) -> AnswerChart:
    """The histogram as steps; prefix sums, and the ranges that start at the first bin, as the curve they are."""
    comparison = result.comparison
    if workload is DelayQueries.RANGES:
        curve = set(parse_specification(delay_specification(DelayQueries.PREFIX, bins)).build().labels())
        comparison = comparison.only([index for index, label in enumerate(comparison.labels) if label in curve])
    histogram = workload is DelayQueries.HISTOGRAM
    shown = "Share of flights in each bin of delay" if histogram else "Share of flights at most this late"
    terms = result.estimate.terms
    return answer_chart(
        comparison,
        title=f"{shown}: {quantity(result.estimate.users, 'device')}, ε = {chosen(result.estimate.epsilon)}",
        subtitle=f"{workload} over {bins} bins, {terms['mechanism']}; {_verdict(result.comparison)}",
        axis=f"{ATTRIBUTE.replace('_', ' ')} in minutes, early flights negative (stretched like the bins)",
        ticks=_ticks(bins, 0.5 if histogram else 0.0),
        steps=histogram,
    )


def _verdict(comparison: TruthComparison) -> str:
    held = "every true answer is inside the band" if comparison.band_holds else "some true answers are outside the band"
    return f"{held}, largest error {figure(100 * (comparison.max_abs_error or 0.0), 2)} percentage points"


def _ticks(bins: int, shift: float) -> list[tuple[float, str]]:
    """Round minutes where there are enough of them among the edges, every edge otherwise."""
    edges = delay_edges(bins)
    round_ones = [place for place, edge in enumerate(edges) if edge % 20 == 0]
    places = round_ones if len(round_ones) >= 5 else range(len(edges))
    return [(place + shift, chosen(edges[place])) for place in places]
