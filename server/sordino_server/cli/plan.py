"""`sordino plan`: find the best mechanism for a workload on this machine, with its errors and certificate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import typer
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Display

from sordino_analysis.pairwise.finished_protocol import FinishedProtocol
from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.plan_cache import Finished, PlanCache, Request, default_folder
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.linear import Workload, builtin
from sordino_analysis.questions.pairwise import PairwiseSpecification
from sordino_analysis.questions.specifications import load_either
from sordino_analysis.request_terms import Effort
from sordino_server.cli.candidates import MechanismOption, ProtocolOption
from sordino_server.cli.output import (
    JsonOption,
    VerboseOption,
    console,
    fail,
    print_json,
    progress_console,
    reports_errors,
    say,
)
from sordino_server.cli.plan_result import print_plan
from sordino_server.cli.sigint import finishing_when_asked
from sordino_server.cli.statistics import TargetOption, print_protocols
from sordino_server.cli.unused_options import refuse_given
from sordino_shared.guarantees import PureEpsilon

DEVICE_FILE, ANALYST_FILE, SUMMARY_FILE = "device.cbor", "analyst.cbor", "plan.json"
PROTOCOL_FILE = "protocol.json"
OutputOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help=f"Write {DEVICE_FILE}, {ANALYST_FILE}, {SUMMARY_FILE} (and {PROTOCOL_FILE} of a statistic) here.",
    ),
]
CacheDirOption = Annotated[
    Path | None,
    typer.Option(envvar="SORDINO_CACHE_DIR", metavar="FOLDER", help="Folder of earlier plans.", show_default=False),
]

_OF_QUERIES = ("objective", "target_error", "mechanism", "reduction")

Kind = Literal["histogram", "prefix", "ranges"]

P = TypeVar("P", bound=Finished)
# Computes a plan; takes a callback for progress and a function that returns whether the user interrupted.
Compute = Callable[[ProgressCallback, Callable[[], bool]], P]


@reports_errors
def plan(
    context: typer.Context,
    epsilon: Annotated[str, typer.Option(metavar="E", help="ε of one report, such as 1 or 0.5.")],
    workload: Annotated[Kind | None, typer.Option(metavar="KIND", help=f"One of {', '.join(get_args(Kind))}.")] = None,
    size: Annotated[int | None, typer.Option(metavar="N", help="Number of bins for --workload.")] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Workload file (YAML or JSON) instead of --workload.")
    ] = None,
    objective: Annotated[
        Literal["max", "mean"],
        typer.Option(metavar="max|mean", help="Minimise the variance of the worst query, or the mean over queries."),
    ] = "max",
    users: Annotated[
        int | None,
        typer.Option(metavar="N", help="Predict errors for this many reports. Required for a pairwise statistic."),
    ] = None,
    target_error: Annotated[
        float | None, typer.Option(metavar="RMSE", help="Print how many reports reach this root mean squared error.")
    ] = None,
    mechanism: MechanismOption = None,
    reduction: Annotated[
        int | None,
        typer.Option(metavar="N", help="Dimension that the factorization mechanism projects to; needs --users."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same plan.")] = 0,
    effort: Annotated[
        Effort, typer.Option(metavar="LEVEL", help=f"Search effort: {', '.join(Effort)}.")
    ] = Effort.STANDARD,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop the search after this time and keep the best plan.")
    ] = None,
    protocol: ProtocolOption = None,
    target: TargetOption = None,
    output: OutputOption = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Do not reuse or store plans on this machine.")] = False,
    cache_dir: CacheDirOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find the best mechanism for a workload and print its errors.

    Examples:

        sordino plan --workload prefix --size 64 --epsilon 1 --users 10000
        sordino plan --file delays.yaml --epsilon 1 --output delays

    The planner computes the exact variance of every mechanism and takes the best for the objective. For a file with a
    pairwise statistic it compares protocols by their predicted error with --users devices.

    Ctrl-C stops the search and keeps the best plan so far; a second Ctrl-C aborts.

    The lower bound holds for unbiased, one-round, non-adaptive mechanisms whose estimator is a sum over users.
    """
    asked = _asked(workload, size, file)
    folder = None if no_cache else cache_dir or default_folder()
    if isinstance(asked, PairwiseSpecification):
        refuse_given(context, _OF_QUERIES, "they apply to linear queries; this file holds a pairwise statistic")
        if users is None:
            fail("a pairwise statistic needs --users: its protocol depends on the number of devices", code=2)
        for_pairs = (PureEpsilon.of(epsilon), users, protocol, target or "pairs", seed, effort, time_limit)
        _plan_statistic(PairwiseRequest(asked, *for_pairs), folder, output, verbose, as_json)
        return
    refuse_given(context, ("protocol", "target"), "they apply to pairwise statistics; this workload has linear queries")
    if users is not None and target_error is not None:
        fail("give --users or --target-error, not both", code=2)
    terms = (PureEpsilon.of(epsilon), objective, mechanism, users, seed, reduction, effort, time_limit)
    _plan_queries(PlanRequest(asked, *terms), folder, target_error, output, verbose, as_json)


def _plan_queries(
    request: PlanRequest,
    folder: Path | None,
    target_error: float | None,
    output: Path | None,
    verbose: bool,
    as_json: bool,
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
        files = None if output is None else f"written to {output}/: {DEVICE_FILE}, {ANALYST_FILE}, {SUMMARY_FILE}"
        print_plan(console, summary, files, verbose)


def _plan_statistic(
    request: PairwiseRequest, folder: Path | None, output: Path | None, verbose: bool, as_json: bool
) -> None:
    known = None if folder is None else PlanCache(folder, FinishedProtocol.read)
    finished = _finished(request, request.finish, known)
    if output is not None:
        _write(finished.first, finished.summary, output)
        (output / PROTOCOL_FILE).write_bytes(finished.protocol.content)
    if as_json:
        print_json(finished.summary)
        return
    print_protocols(console, finished.summary, verbose)
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
