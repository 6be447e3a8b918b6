"""`sordino simulate`: devices that hold the rows of somebody's own file."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sordino_analysis.analyst.tables import device_values, read_table
from sordino_analysis.charts import draw_answers
from sordino_analysis.questions.linear import WorkloadSpecification, parse_specification
from sordino_analysis.questions.pairwise import PairwiseSpecification
from sordino_analysis.questions.specifications import load_either
from sordino_server.cli.candidates import MechanismOption, ProtocolOption
from sordino_server.cli.output import JsonOption, console, print_json, progress_console, reports_errors
from sordino_server.cli.simulation.campaign import CampaignResult, CampaignTerms, check_users, run_campaign
from sordino_server.cli.simulation.columns import inferred_specification
from sordino_server.cli.simulation.run import RemoteServer, run_simulation
from sordino_server.cli.simulation.statistic_campaign import run_statistic_campaign
from sordino_server.cli.simulation.statistic_summary import print_statistic_result, statistic_document
from sordino_server.cli.simulation.summary import answer_chart, print_result, result_document
from sordino_server.cli.simulation.working_folder import check_writable
from sordino_server.cli.unused_options import refuse_given
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, check_round_guarantee


class ColumnQueries(StrEnum):
    """What can be asked of one column without a workload file."""

    HISTOGRAM = "histogram"
    PREFIX = "prefix"
    RANGES = "ranges"


class Objective(StrEnum):
    """Which variance the plan makes small."""

    MAX = "max"
    MEAN = "mean"


@reports_errors
def simulate(
    context: typer.Context,
    csv: Annotated[Path, typer.Option("--csv", help="CSV file with a header; every row is one device.")],
    column: Annotated[list[str], typer.Option(help="Column a device holds; several as ATTRIBUTE=COLUMN, with --spec.")],
    epsilon: Annotated[float, typer.Option(help="ε of every device for the campaign.")] = 1.0,
    workload: Annotated[ColumnQueries, typer.Option(help="What is asked of one column.")] = ColumnQueries.HISTOGRAM,
    edges: Annotated[str | None, typer.Option(help="Edges of a numeric column's bins, like 0,10,20.5")] = None,
    bins: Annotated[int, typer.Option(min=2, max=4096, help="Equal bins without --edges.")] = 32,
    spec: Annotated[Path | None, typer.Option(help="Workload file instead of --workload, --edges and --bins.")] = None,
    mechanism: MechanismOption = None,
    protocol: ProtocolOption = None,
    objective: Annotated[Objective, typer.Option(help="Plan for the worst query or for their mean.")] = Objective.MAX,
    time_limit: Annotated[float, typer.Option(help="Seconds of search for a mechanism.")] = 60.0,
    apps: Annotated[int, typer.Option(min=0, help="Devices that run the SDK as an app, with a file each.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the plan and the fleet.")] = 0,
    server: Annotated[str | None, typer.Option(help="A running server; a temporary one if left out.")] = None,
    key: Annotated[str | None, typer.Option(envvar="SORDINO_KEY", help="Operator's key for --server.")] = None,
    chart: Annotated[Path | None, typer.Option(help="Write a chart (SVG) here.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep database, log, ledgers and estimates.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Simulate a campaign whose devices hold the rows of a CSV file, and compare the estimates with the truth.

    A workload file may ask for a statistic of pairs, whose campaign goes through all rounds of its protocol.

    Without --spec one column is asked: numbers are cut into bins, anything else is counted by its distinct values;
    absent values become `missing`, the rest `other`. Bins and categories taken from the file itself would tell
    something of it in a real campaign: there, write them into a workload file beforehand.

    Example:

        sordino simulate --csv arrivals.csv --column delay --workload prefix
    """
    started = time.perf_counter()
    _check_numbers(epsilon, time_limit)
    remote = RemoteServer.of(server, key)
    written = None if spec is None else load_either(spec)
    _refuse_idle(context, written)
    if chart is not None:
        check_writable(chart)
    asked, values = _asked(csv, column, written, workload, edges, bins)
    check_users(len(values))
    order = {"epsilon": epsilon, "users": len(values), "seed": seed, "time_limit": time_limit, "mechanism": mechanism}
    of_pairs = isinstance(asked, PairwiseSpecification)
    terms = _terms(asked, order | ({"protocol": protocol} if of_pairs else {"objective": objective}), csv.name)
    if of_pairs:
        _simulate_statistic(terms, values, apps, keep, remote, as_json)
        return
    result, kept = run_simulation(
        run_campaign, terms, values, apps=apps, keep=keep, console=progress_console, remote=remote
    )
    places = {"kept": str(kept)} if kept else {}
    if chart is not None:
        chart.write_text(_drawn(result, csv.name), encoding="utf-8")
        places |= {"chart": str(chart.resolve())}
    seconds = time.perf_counter() - started
    if as_json:
        print_json(result_document(result) | {"seed": seed, "seconds": seconds, "kept": None, "chart": None} | places)
        return
    print_result(console, result, places | {"seconds": f"{seconds:.1f}"})


def _check_numbers(epsilon: float, time_limit: float) -> None:
    """Refuse what a server would refuse, before one is started."""
    check_round_guarantee(PureEpsilon.of(epsilon))
    if not 0 < time_limit < 1e6:
        raise InvalidValue(f"the time limit must be a positive number of seconds, got {time_limit!r}", time_limit)


def _terms(
    asked: WorkloadSpecification | PairwiseSpecification, plan: Mapping[str, object], source: str
) -> CampaignTerms:
    return CampaignTerms(
        specification=asked.canonical(),
        plan=plan,
        name=f"simulation of {source}"[:200],
        purpose="A simulation: nobody's device is asked.",
        population="simulation",
    )


def _refuse_idle(context: typer.Context, written: WorkloadSpecification | PairwiseSpecification | None) -> None:
    if written is not None:
        refuse_given(context, ("workload", "edges", "bins"), "the workload file says what is asked")
    if isinstance(written, PairwiseSpecification):
        refuse_given(context, ("mechanism", "objective", "chart"), "a statistic of pairs has no use for it")
    else:
        refuse_given(context, ("protocol",), "only a statistic of pairs has a protocol, which --spec may ask for")


def _simulate_statistic(
    terms: CampaignTerms,
    values: Sequence[object],
    apps: int,
    keep: bool,
    remote: RemoteServer | None,
    as_json: bool,
) -> None:
    result, kept = run_simulation(
        run_statistic_campaign, terms, values, apps=apps, keep=keep, console=progress_console, remote=remote
    )
    if as_json:
        print_json(statistic_document(result, None) | {"kept": None if kept is None else str(kept)})
        return
    print_statistic_result(console, result, None)


def _asked(
    csv: Path,
    columns: Sequence[str],
    written: WorkloadSpecification | PairwiseSpecification | None,
    kind: ColumnQueries,
    edges: str | None,
    bins: int,
) -> tuple[WorkloadSpecification | PairwiseSpecification, list[dict[str, object]]]:
    """The workload, from its file or inferred, and what every device holds."""
    if written is None:
        if len(columns) != 1:
            raise InvalidValue("several columns need a workload file that says what is asked of them: --spec", columns)
        table = read_table(csv, columns)
        specification = parse_specification(inferred_specification(table, columns[0], kind, _edges(edges), bins))
        return specification, device_values(table, specification.build().domain, {columns[0]: columns[0]})
    domain = _domain(written)
    places = _columns_of(domain, columns)
    return written, device_values(read_table(csv, list(places.values())), domain, places)


def _domain(written: WorkloadSpecification | PairwiseSpecification) -> Domain:
    """The attributes that columns are read for; where the number of bins is open, any tells as much."""
    if isinstance(written, PairwiseSpecification) and written.open_bins() is not None:
        return written.with_bins(2).build().domain
    return written.build().domain


def _columns_of(domain: Domain, columns: Sequence[str]) -> Mapping[str, str]:
    """The column of each attribute: ATTRIBUTE=COLUMN, or a column of the attribute's name, or the only one there is."""
    names = [attribute.name for attribute in domain.attributes]
    if len(names) == len(columns) == 1 and not columns[0].startswith(f"{names[0]}="):
        return {names[0]: columns[0]}
    pairs = dict(_pair(text, names) for text in columns)
    if set(pairs) != set(names):
        raise InvalidValue(
            f"the workload asks for {', '.join(names)}: give --column ATTRIBUTE=COLUMN once for each", list(columns)
        )
    return pairs


def _pair(text: str, names: Sequence[str]) -> tuple[str, str]:
    name, sign, column = text.partition("=")
    return (name, column) if sign and name in names else (text, text)


def _edges(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InvalidValue(f"--edges takes numbers with commas between them, like 0,10,20.5, not {text!r}") from error


def _drawn(result: CampaignResult, source: str) -> str:
    comparison, plan, estimates = result.comparison, result.plan, result.estimates
    places = range(0, len(comparison.truth), max(1, len(comparison.truth) // 8))
    chart = answer_chart(
        comparison,
        title=f"{source}: {estimates['users']:,} devices, ε = {estimates['epsilon']:g}",
        subtitle=f"{plan['workload']}, {plan['mechanism']}",
        axis="queries in the workload's order",
        ticks=[(float(place), comparison.labels[place]) for place in places],
        steps=True,
    )
    return draw_answers(chart)
