"""`sordino demo`: a whole campaign on this machine, with real flights on simulated devices."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from sordino_analysis.charts import AnswerChart, draw_answers
from sordino_analysis.questions.linear import parse_specification
from sordino_server.cli.candidates import MechanismOption
from sordino_server.cli.output import JsonOption, console, print_json, progress_console, reports_errors
from sordino_server.cli.simulation.campaign import CampaignResult, CampaignTerms, check_users, run_campaign
from sordino_server.cli.simulation.comparison import Comparison
from sordino_server.cli.simulation.run import RemoteServer, run_simulation
from sordino_server.cli.simulation.statistic_campaign import run_statistic_campaign
from sordino_server.cli.simulation.statistic_summary import print_statistic_result, statistic_document
from sordino_server.cli.simulation.summary import answer_chart, print_result, result_document
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
)
from sordino_shared.guarantees import PureEpsilon, check_round_guarantee

APPS = 200
# On a slow machine the search for a kernel ends here, with the best so far; prefix and histogram need a third of it.
_SEARCH_S = 20.0
_PURPOSE = (
    "Your device tells how late its flight arrived, hidden in so much chance that nobody learns it, "
    "so that the airport learns how late flights are on the whole."
)
_PAIR_PURPOSE = (
    "Your device tells something of its flight, hidden in so much chance that nobody learns it, "
    "so that the airport learns how flights compare with one another."
)


@reports_errors
def demo(
    context: typer.Context,
    users: Annotated[int, typer.Option(help="Simulated devices, one flight each.")] = 50_000,
    epsilon: Annotated[float, typer.Option(help="ε of every device for the campaign.")] = 1.0,
    workload: Annotated[DelayQueries, typer.Option(help="What is asked of the delays.")] = DelayQueries.PREFIX,
    bins: Annotated[int, typer.Option(help="Bins that delays are cut into, 2 to 240.")] = 64,
    mechanism: MechanismOption = None,
    statistic: Annotated[
        FlightStatistic | None, typer.Option(help="Ask for a statistic of pairs of flights, not for delays.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the drawn flights, the plan and the fleet.")] = 0,
    server: Annotated[str | None, typer.Option(help="A running server; a temporary one if left out.")] = None,
    key: Annotated[str | None, typer.Option(envvar="SORDINO_KEY", help="Operator's key for --server.")] = None,
    chart: Annotated[Path, typer.Option(help="Where the chart is written.")] = Path("sordino-demo.svg"),
    keep: Annotated[bool, typer.Option("--keep", help="Keep database, log, ledgers and estimates.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a whole campaign on this machine: real server, simulated devices, real flight delays.

    Starts `sordino serve` with a new SQLite database, or asks --server; plans a mechanism, opens a campaign, has the
    devices answer, closes it and compares the estimates with the truth. The first 200 devices run the SDK as an app
    would and draw from the operating system's generator, so two runs with one seed differ a little.

    A statistic of pairs goes through all rounds of its protocol, has the truth in its bins and without them beside it,
    and draws no chart.
    """
    started = time.perf_counter()
    check_users(users)
    check_round_guarantee(PureEpsilon.of(epsilon))
    remote = RemoteServer.of(server, key)
    if statistic is not None:
        refuse_given(context, ("workload", "bins", "mechanism", "chart"), "a statistic of pairs has no use for it")
        _demo_statistic(statistic, users, epsilon, seed, keep, as_json, remote)
        return
    delay_edges(bins)
    check_writable(chart)
    delays = draw_delays(users, seed)
    order = {"epsilon": epsilon, "objective": "max", "mechanism": mechanism, "users": users, "seed": seed}
    terms = CampaignTerms(
        specification=delay_specification(workload, bins),
        plan=order | {"time_limit": _SEARCH_S},
        name="arrival delays",
        purpose=_PURPOSE,
        population="flights from New York in 2013",
    )
    result, kept = run_simulation(
        run_campaign, terms, delays.tolist(), apps=APPS, keep=keep, console=progress_console, remote=remote
    )
    chart.write_text(draw_answers(_chart(result, workload, bins)), encoding="utf-8")
    places = {"chart": str(chart.resolve())} | ({"kept": str(kept)} if kept else {})
    seconds = time.perf_counter() - started
    if as_json:
        asked = {"workload": workload.value, "bins": bins, "seed": seed, "seconds": seconds}
        print_json(result_document(result) | asked | {"kept": None} | places)
        return
    print_result(console, result, places | {"seconds": f"{seconds:.1f}"})


def _demo_statistic(
    asked: FlightStatistic,
    users: int,
    epsilon: float,
    seed: int,
    keep: bool,
    as_json: bool,
    remote: RemoteServer | None,
) -> None:
    flights = draw_flights(users, seed)
    terms = CampaignTerms(
        specification=statistic_specification(asked),
        plan={"epsilon": epsilon, "users": users, "seed": seed, "time_limit": _SEARCH_S, "effort": "quick"},
        name=f"{asked} of flights",
        purpose=_PAIR_PURPOSE,
        population="flights from New York in 2013",
    )
    values = device_values(asked, flights)
    result, kept = run_simulation(
        run_statistic_campaign, terms, values, apps=APPS, keep=keep, console=progress_console, remote=remote
    )
    raw = raw_truth(asked, flights)
    if as_json:
        print_json(statistic_document(result, raw) | {"seed": seed, "kept": None if kept is None else str(kept)})
        return
    print_statistic_result(console, result, raw)


def _chart(result: CampaignResult, workload: DelayQueries, bins: int) -> AnswerChart:
    """The histogram as steps; prefix sums, and the ranges that start at the first bin, as the curve they are."""
    comparison = result.comparison
    if workload is DelayQueries.RANGES:
        curve = set(parse_specification(delay_specification(DelayQueries.PREFIX, bins)).build().labels())
        comparison = comparison.only([index for index, label in enumerate(comparison.labels) if label in curve])
    histogram = workload is DelayQueries.HISTOGRAM
    shown = "Share of flights in each bin of delay" if histogram else "Share of flights at most this late"
    plan, estimates = result.plan, result.estimates
    return answer_chart(
        comparison,
        title=f"{shown}: {estimates['users']:,} devices, ε = {estimates['epsilon']:g}",
        subtitle=f"{workload} over {bins} bins, {plan['mechanism']}; {_verdict(result.comparison)}",
        axis=f"{ATTRIBUTE.replace('_', ' ')} in minutes, early flights negative (stretched like the bins)",
        ticks=_ticks(bins, 0.5 if histogram else 0.0),
        steps=histogram,
    )


def _verdict(comparison: Comparison) -> str:
    held = "the truth lies inside the band everywhere" if comparison.band_holds else "the truth leaves the band"
    return f"{held}, largest error {100 * comparison.max_abs_error:.2f} percentage points"


def _ticks(bins: int, shift: float) -> list[tuple[float, str]]:
    """Round minutes where there are enough of them among the edges, every edge otherwise."""
    edges = delay_edges(bins)
    round_ones = [place for place, edge in enumerate(edges) if edge % 20 == 0]
    places = round_ones if len(round_ones) >= 5 else range(len(edges))
    return [(place + shift, f"{edges[place]:g}".replace("-", "−")) for place in places]
