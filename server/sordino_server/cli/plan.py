"""`sordino plan`: the best mechanism for a workload, computed here, with its figures and its certificate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Display
from rich.table import Table

from sordino_analysis.optimisation.search import Effort
from sordino_analysis.pairwise.pairwise_request import FinishedProtocol, PairwiseRequest
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.plan_cache import Finished, PlanCache, Request, default_folder
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.linear import Workload, builtin
from sordino_analysis.questions.pairwise import PairwiseSpecification
from sordino_analysis.questions.specifications import load_either
from sordino_server.cli.candidates import MechanismOption, ProtocolOption
from sordino_server.cli.output import JsonOption, console, fail, print_json, progress_console, reports_errors, say
from sordino_server.cli.sigint import finishing_when_asked
from sordino_server.cli.statistics import TargetOption, print_protocols, shown_device_part
from sordino_server.cli.unused_options import refuse_given
from sordino_shared.guarantees import PureEpsilon

DEVICE_FILE, ANALYST_FILE, SUMMARY_FILE = "device.cbor", "analyst.cbor", "plan.json"
PROTOCOL_FILE = "protocol.json"
_SHOWN_ERRORS = 12
OutputOption = Annotated[
    Path | None,
    typer.Option(
        help=f"Folder to write {DEVICE_FILE}, {ANALYST_FILE}, {SUMMARY_FILE} and a statistic's {PROTOCOL_FILE} to."
    ),
]
CacheDirOption = Annotated[
    Path | None,
    typer.Option(envvar="SORDINO_CACHE_DIR", help="Folder of the plans that were computed.", show_default=False),
]

_OF_QUERIES = ("objective", "target_error", "mechanism", "reduction")

Kind = Literal["histogram", "prefix", "ranges"]

P = TypeVar("P", bound=Finished)
# Makes a plan, told whom to show progress and whom to ask whether it was interrupted.
Compute = Callable[[ProgressCallback, Callable[[], bool]], P]


@reports_errors
def plan(
    context: typer.Context,
    epsilon: Annotated[str, typer.Option(help="ε of one report: 1, 0.5, …")],
    workload: Annotated[Kind | None, typer.Option(help="A built-in workload over --size bins.")] = None,
    size: Annotated[int | None, typer.Option(help="Number of bins of a built-in workload.")] = None,
    file: Annotated[Path | None, typer.Option(help="A workload file (YAML or JSON) instead of --workload.")] = None,
    objective: Annotated[
        Literal["max", "mean"], typer.Option(help="Make the worst query's variance small, or the mean over queries.")
    ] = "max",
    users: Annotated[
        int | None, typer.Option(help="Predict errors for this many reports; a statistic needs it.")
    ] = None,
    target_error: Annotated[
        float | None, typer.Option(help="Say how many reports give at most this root mean squared error.")
    ] = None,
    mechanism: MechanismOption = None,
    reduction: Annotated[
        int | None, typer.Option(help="Dimension to which the factorization mechanism projects; needs --users.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the design: the same seed gives the same plan.")] = 0,
    effort: Annotated[Effort, typer.Option(help="How hard the search for a kernel tries.")] = Effort.STANDARD,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds of planning, after which the best so far is taken.")
    ] = None,
    protocol: ProtocolOption = None,
    target: TargetOption = None,
    output: OutputOption = None,
    cache: Annotated[bool, typer.Option(help="Take a plan that was computed before, and keep this one.")] = True,
    cache_dir: CacheDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Plan a mechanism: every candidate is evaluated exactly and the best for the objective is taken.

    For a file with a statistic of pairs, protocols are compared by their predicted error for --users devices.

    Ctrl-C ends the search with the best so far, a second one without a plan.

    The lower bound is for unbiased, one-round, non-adaptive mechanisms whose estimator is a sum over users.

    Example:

        sordino plan --workload prefix --size 64 --epsilon 1 --users 10000
    """
    asked = _asked(workload, size, file)
    folder = (cache_dir or default_folder()) if cache else None
    if isinstance(asked, PairwiseSpecification):
        refuse_given(context, _OF_QUERIES, "they are of linear queries; this file asks for a statistic of pairs")
        if users is None:
            fail("a statistic of pairs needs --users: its protocol depends on how many devices answer", code=2)
        for_pairs = (PureEpsilon.of(epsilon), users, protocol, target or "pairs", seed, effort, time_limit)
        _plan_statistic(PairwiseRequest(asked, *for_pairs), folder, output, as_json)
        return
    refuse_given(context, ("protocol", "target"), "they are of statistics of pairs; this workload has linear queries")
    if users is not None and target_error is not None:
        fail("give --users or --target-error, not both", code=2)
    terms = (PureEpsilon.of(epsilon), objective, mechanism, users, seed, reduction, effort, time_limit)
    _plan_queries(PlanRequest(asked, *terms), folder, target_error, output, as_json)


def _plan_queries(
    request: PlanRequest, folder: Path | None, target_error: float | None, output: Path | None, as_json: bool
) -> None:
    def computed(show: ProgressCallback, interrupted: Callable[[], bool]) -> FinishedPlan:
        return compile_plan(request, show, interrupted).finished()

    finished = _finished(request, computed, None if folder is None else PlanCache(folder, FinishedPlan.read))
    summary = finished.summary
    if target_error is not None:
        summary |= {"target_error": target_error, "users_needed": finished.users_needed(target_error)}
    if output is not None:
        _write(finished, summary, output)
    if as_json:
        print_json(summary)
    else:
        _print(summary, output)


def _plan_statistic(request: PairwiseRequest, folder: Path | None, output: Path | None, as_json: bool) -> None:
    known = None if folder is None else PlanCache(folder, FinishedProtocol.read)
    finished = _finished(request, request.finish, known)
    if output is not None:
        _write(finished.first, finished.summary, output)
        (output / PROTOCOL_FILE).write_bytes(finished.protocol.content)
    if as_json:
        print_json(finished.summary)
        return
    print_protocols(console, finished.summary)
    if output is not None:
        names = f"{PROTOCOL_FILE}, {DEVICE_FILE}, {ANALYST_FILE}, {SUMMARY_FILE}"
        console.print(f"written to {output}/: {names}", highlight=False)


def _asked(kind: Kind | None, size: int | None, file: Path | None) -> Workload | PairwiseSpecification:
    if (kind is None) == (file is None) or (kind is not None and size is None):
        fail("give --workload with --size, or --file", code=2)
    if file is not None:
        if size is not None:
            fail("--size goes with --workload; a workload file has its own domain", code=2)
        specification = load_either(file)
        return specification if isinstance(specification, PairwiseSpecification) else specification.build()
    return builtin(str(kind), size or 0)


def _finished(request: Request, compute: Compute[P], cache: PlanCache[P] | None) -> P:
    """The plan that was computed for the same request before, else computed now and kept."""
    if cache is None:
        return _computed(compute)
    found = cache.find(request)
    if found is not None:
        say(f"computed before; taken from {cache.folder} (--no-cache computes it again)")
        return found
    plan = _computed(compute)
    try:
        cache.keep(request, plan)
    except OSError as error:
        say(f"the plan cannot be kept in {cache.folder} ({error.strerror}); --cache-dir chooses another folder")
    return plan


def _computed(compute: Compute[P]) -> P:
    with finishing_when_asked() as asked, _displayed() as show:
        return compute(show, asked)


@contextmanager
def _displayed() -> Iterator[ProgressCallback]:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Display(*columns, console=progress_console, transient=True) as display:
        task = display.add_task("planning", total=1.0)

        def show(told: Progress) -> None:
            display.update(task, description=shown_progress(told), completed=told.fraction)

        yield show


def shown_progress(told: Progress) -> str:
    """The stage, and how good the best so far is."""
    variance = "" if told.variance is None else f" · variance {told.variance:.4g}"
    return f"{told.stage}{variance}" + ("" if told.ratio is None else f", {told.ratio:.3f}× the bound")


def _write(plan: FinishedPlan, summary: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DEVICE_FILE).write_bytes(plan.device.content)
    (folder / ANALYST_FILE).write_bytes(plan.analyst.content)
    (folder / SUMMARY_FILE).write_text(json.dumps(summary, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _print(summary: dict[str, Any], output: Path | None) -> None:
    table = Table(title=f"{summary['workload']} · ε = {summary['epsilon']:g} · objective {summary['objective']}")
    table.add_column("mechanism", no_wrap=True)
    for heading in ("max variance", "mean variance", "bias ≤", "seconds"):
        table.add_column(heading, justify="right")
    for row in summary["candidates"]:
        chosen = row["name"] == summary["mechanism"]
        numbers = [_number(row[name]) for name in ("max_variance", "mean_variance", "bias_bound")]
        name = f"→ {row['name']}" if chosen else f"  {row['name']}"
        table.add_row(name, *numbers, f"{row['seconds']:.2f}", style="bold" if chosen else "")
    bounds = [_number(summary[f"lower_bound_{objective}"]) for objective in ("max", "mean")]
    table.add_row("  certified lower bound", *bounds, "", "", style="dim")
    console.print(table)
    for row in summary["candidates"]:
        if row["reason"]:
            console.print(f"{row['name']} was not taken: {row['reason']}", highlight=False, markup=False)
    for line in _lines(summary):
        console.print(line, highlight=False, markup=False)
    if output is not None:
        console.print(f"written to {output}/: {DEVICE_FILE}, {ANALYST_FILE}, {SUMMARY_FILE}", highlight=False)


def _lines(summary: dict[str, Any]) -> list[str]:
    ratios = [
        f"{objective} {summary[f'ratio_{objective}']:.3f}×"
        for objective in ("max", "mean")
        if summary[f"ratio_{objective}"] is not None
    ]
    lines = [
        f"variance beside the lower bound for unbiased one-round mechanisms: {', '.join(ratios) or 'no bound above 0'}",
        f"if a share f of the reports is made up, no answer moves by more than {summary['manipulation']:.4g}·f",
        f"device part  {summary['digests']['device']}  {shown_device_part(summary)}",
        f"analyst part {summary['digests']['analyst']}  {summary['analyst_bytes']:,} bytes",
    ]
    if summary["cut_short"]:
        lines.append(f"cut short ({summary['cut_short']}): with more time mechanism and bound may be better")
    if "users_needed" in summary:
        lines.append(f"users needed for an error of {summary['target_error']:g}: {summary['users_needed']:,}")
    if "predicted_errors" in summary:
        worst = sorted(summary["predicted_errors"], key=lambda item: -item["rmse"])
        lines.append(f"predicted error of the worst query with {summary['users']:,} users: {worst[0]['rmse']:.3g}")
        lines += [f"  {item['rmse']:.3g}  {item['label']}" for item in worst[:_SHOWN_ERRORS]]
        if len(worst) > _SHOWN_ERRORS:
            lines.append(f"  … and {len(worst) - _SHOWN_ERRORS} queries with smaller errors (--json has all)")
    return lines


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
