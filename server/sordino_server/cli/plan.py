"""`sordino plan`: find the best mechanism for a workload on this machine, with its errors and certificate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, get_args

import typer

from sordino_analysis.charts import PlanVariances, VarianceChart, draw_variances
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.plan_cache import PlanCache, default_folder
from sordino_analysis.planning.plan_folder import ANALYST_FILE, DEVICE_FILE, FILES, PROTOCOL_FILE, write_parts
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.question import WrittenQuestion
from sordino_analysis.request_terms import Effort
from sordino_analysis.requests import kind_of_question, request_for
from sordino_server.cli.candidates import MechanismOption, ObjectiveOption, ProtocolOption
from sordino_server.cli.chart_file import ChartOption, drawn
from sordino_server.cli.curator_planning import (
    DeltaOption,
    NeighboursOption,
    RhoOption,
    Trust,
    TrustOption,
    check_trust,
    print_curator_plan,
)
from sordino_server.cli.local_planning import (
    CacheDirOption,
    EffortOption,
    FileOption,
    Kind,
    asked_specification,
    finished_plan,
)
from sordino_server.cli.output import (
    JsonOption,
    VerboseOption,
    fail,
    print_json,
    reports_errors,
)
from sordino_server.cli.plan_result import print_plan
from sordino_server.cli.price_of_locality import with_price
from sordino_server.cli.shuffler_options import (
    CollectorOption,
    DeviceEpsilonOption,
    WeakEpsilonOption,
    shuffler_options,
)
from sordino_server.cli.statistics import TargetOption
from sordino_server.cli.unused_options import refuse_given
from sordino_shared.errors import InvalidValue

SUMMARY_FILE = "plan.json"
OutputOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help=f"Write {DEVICE_FILE}, {ANALYST_FILE}, {SUMMARY_FILE} (and {PROTOCOL_FILE} of a statistic) here.",
    ),
]


UsersOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="Predict errors for this many reports. Required for a pairwise statistic."),
]
EpsilonOption = Annotated[
    str | None,
    typer.Option(metavar="E", help="ε of one report, such as 1 or 0.5, or of one release with --trust curator."),
]
TargetErrorOption = Annotated[
    float | None, typer.Option(metavar="RMSE", help="Print how many reports reach this root mean squared error.")
]
ReductionOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="Dimension that the factorization mechanism projects to; needs --users."),
]
RobustOption = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="Share of reports that may be fake: weigh how far they move an answer."),
]
TimeLimitOption = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Stop the search after this time and keep the best plan.")
]


@reports_errors
def plan(
    context: typer.Context,
    epsilon: EpsilonOption = None,
    workload: Annotated[Kind | None, typer.Option(metavar="KIND", help=f"One of {', '.join(get_args(Kind))}.")] = None,
    size: Annotated[int | None, typer.Option(metavar="N", help="Number of bins for --workload.")] = None,
    file: FileOption = None,
    objective: ObjectiveOption = "max",
    users: UsersOption = None,
    target_error: TargetErrorOption = None,
    collector: CollectorOption = None,
    device_epsilon: DeviceEpsilonOption = None,
    weak_epsilon: WeakEpsilonOption = False,
    mechanism: MechanismOption = None,
    reduction: ReductionOption = None,
    robust: RobustOption = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same plan.")] = 0,
    effort: EffortOption = Effort.STANDARD,
    time_limit: TimeLimitOption = None,
    protocol: ProtocolOption = None,
    target: TargetOption = None,
    trust: TrustOption = Trust.LOCAL,
    rho: RhoOption = None,
    delta: DeltaOption = None,
    neighbours: NeighboursOption = "replace",
    output: OutputOption = None,
    chart: ChartOption = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Do not reuse or store plans on this machine.")] = False,
    cache_dir: CacheDirOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find the best mechanism for a workload and print its errors.

    Examples:

        sordino plan --file delays.yaml --epsilon 1 --output delays
        sordino plan --workload prefix --size 64 --trust curator --epsilon 1
        sordino plan --workload prefix --size 128 --collector 1,1e-6 --target-error 0.01

    The planner takes the mechanism of the least exact variance, and of a pairwise statistic the protocol of the least
    predicted error with --users devices. A curator's --epsilon is pure, or (ε, δ) with --delta.

    The lower bound holds for unbiased, one-round, non-adaptive mechanisms whose estimator is a sum over users.
    Ctrl-C stops the search and keeps the best plan so far; a second Ctrl-C aborts.
    """
    trusted = check_trust(context)
    asked = asked_specification(workload, size, file)
    if trusted is Trust.CURATOR:
        print_curator_plan(context, asked)
        return
    _refuse_unused(context, asked)
    cache = None if no_cache else PlanCache(cache_dir or default_folder())
    finished = finished_plan(request_for(asked, _options(context)), cache)
    if target_error is not None and collector is None:
        finished = with_price(finished.for_target(target_error), asked, target_error)
    _keep(finished, output, chart)
    if as_json:
        print_json(json.loads(finished.summary.text()))
    else:
        print_plan(finished.summary, None if output is None else _written(finished, output), verbose)


def _options(context: typer.Context) -> PlanningOptions:
    """Those of the command line; `--target-error` is one of a plan for a shuffler alone."""
    given = {name: context.params[name] for name in PlanningOptions.model_fields}
    return PlanningOptions.of(**given | shuffler_options(context.params))


def _keep(plan: FinishedPlan, output: Path | None, chart: Path | None) -> None:
    """Write the files that were asked for."""
    if output is not None:
        _write(plan, output)
    _draw(plan, chart)


def _draw(plan: FinishedPlan, chart: Path | None) -> None:
    """The variances that were compared, with the bound; raises InvalidValue for a statistic, which has none."""
    with drawn(chart) as picture:
        if chart is None:
            return
        summary = plan.summary.linear
        if summary is None:
            raise InvalidValue("--chart draws variances; protocols of a pairwise statistic have none")
        title, subtitle = f"Variance of {summary.workload}", f"{summary.objective} over answers, of one report"
        picture.write(draw_variances(VarianceChart(title=title, subtitle=subtitle, plans=[PlanVariances.of(summary)])))


def _refuse_unused(context: typer.Context, specification: WrittenQuestion) -> None:
    """Raise InvalidValue for options that the kind of question has no use for."""
    users, target_error = context.params["users"], context.params["target_error"]
    kind = kind_of_question(specification)
    refuse_given(context, kind.request_class().unused, kind.why_unused)
    if kind.why_users is not None:
        refuse_given(context, ("target_error",), kind.why_unused)
        if users is None:
            fail(kind.why_users, code=2)
        return
    if users is not None and target_error is not None:
        fail("give --users or --target-error, not both", code=2)


def _written(plan: FinishedPlan, folder: Path) -> str:
    files = ", ".join(FILES[name] for name in plan.parts())
    return f"written to {folder}/: {files}, {SUMMARY_FILE}"


def _write(plan: FinishedPlan, folder: Path) -> None:
    write_parts(folder, plan.parts())
    text = json.dumps(json.loads(plan.summary.text()), ensure_ascii=False, indent=2)
    (folder / SUMMARY_FILE).write_text(text + "\n", encoding="utf-8")
