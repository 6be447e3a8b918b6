"""`sordino size`: how many users a statement such as ± 1 % at 95 % needs, for several ε."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer
from rich.table import Table

from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.experiments.looks import Looks
from sordino_analysis.figures import amount, chosen
from sordino_analysis.percentages import percent
from sordino_analysis.planning.plan_cache import PlanCache, default_folder
from sordino_analysis.planning.sample_size import NeededUsers, Statement
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear.specification import builtin_specification
from sordino_analysis.questions.question import WrittenQuestion
from sordino_analysis.request_terms import Effort
from sordino_analysis.requests import kind_of_question
from sordino_server.cli.candidates import MechanismOption, ObjectiveOption, ProtocolOption
from sordino_server.cli.crowds import show_crowds
from sordino_server.cli.experiment_options import ExpectOption, LooksOption, looks_behind_shuffler
from sordino_server.cli.experiment_size import (
    ArmsOption,
    DailyOption,
    DifferenceOption,
    ExperimentSize,
    PowerOption,
    SpreadOption,
)
from sordino_server.cli.local_planning import (
    CacheDirOption,
    EffortOption,
    FileOption,
    Kind,
    asked_specification,
    finished_plan,
)
from sordino_server.cli.output import JsonOption, VerboseOption, console, print_json, print_table, reports_errors
from sordino_server.cli.shuffler_options import (
    CollectorOption,
    DeviceEpsilonOption,
    WeakEpsilonOption,
    shuffler_options,
)
from sordino_server.cli.statistics import TargetOption
from sordino_server.cli.strings_size import ShareOption, size_strings
from sordino_server.cli.unused_options import refuse_given
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

# A number with a unit, "%", or nothing behind it.
_MARGIN = re.compile(r"(?P<number>[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)\s*(?P<unit>\D*)")
DEFAULT_EPSILONS = ("0.25", "0.5", "1", "2", "4")
# An experiment without a workload is about the share of users who hold one thing.
_YES_OR_NO = builtin_specification("histogram", 2)
_OF_EXPERIMENTS = ("arms", "power", "daily", "spread", "looks", "expect")
_OF_MARGINS = ("two_campaigns", "population", "protocol", "target")
_NOT_OF_REPORTS = ("level", *_OF_MARGINS, "collector", "device_epsilon", "weak_epsilon")

_EpsilonsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="E", help=f"ε of one report; repeat it for a table. Default: {', '.join(DEFAULT_EPSILONS)}."),
]
_MarginOption = Annotated[
    str | None, typer.Option(metavar="X", help='Half width of the interval: 0.01, 1% or "50 ms".')
]
_ReportsOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Say how far answers of so many reports may be off, instead.")
]
_LevelOption = Annotated[float, typer.Option(metavar="P", help="Probability of the interval.")]
_TwoCampaignsOption = Annotated[
    bool, typer.Option("--two-campaigns", help="Of the difference of two campaigns, with so many users each.")
]
_PopulationOption = Annotated[
    bool,
    typer.Option(
        "--population",
        help="About the population that the users are a random sample of, as losses of rules always are.",
    ),
]

# The table names this many queries, those that need the most users first.
_SHOWN_QUERIES = 12


@reports_errors
def size(
    context: typer.Context,
    margin: _MarginOption = None,
    workload: Annotated[Kind | None, typer.Option(metavar="KIND", help="histogram, prefix or ranges.")] = None,
    size: Annotated[int | None, typer.Option(metavar="N", help="Number of bins for --workload.")] = None,
    file: FileOption = None,
    epsilon: _EpsilonsOption = None,
    reports: _ReportsOption = None,
    share: ShareOption = None,
    level: _LevelOption = 0.95,
    difference: DifferenceOption = None,
    arms: ArmsOption = 2,
    power: PowerOption = "80%",
    daily: DailyOption = None,
    spread: SpreadOption = None,
    looks: LooksOption = Looks.PLANNED,
    expect: ExpectOption = None,
    two_campaigns: _TwoCampaignsOption = False,
    population: _PopulationOption = False,
    collector: CollectorOption = None,
    device_epsilon: DeviceEpsilonOption = None,
    weak_epsilon: WeakEpsilonOption = False,
    objective: ObjectiveOption = "max",
    mechanism: MechanismOption = None,
    protocol: ProtocolOption = None,
    target: TargetOption = None,
    effort: EffortOption = Effort.STANDARD,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Do not reuse or store plans on this machine.")] = False,
    cache_dir: CacheDirOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print how many users a statement such as "± 1 % at 95 %" needs.

    Examples:

        sordino size --workload prefix --size 64 --margin 2% --collector 1,1e-6
        sordino size --difference 1% --arms 2 --power 80% --daily 20000

        sordino size --workload histogram --size 2 --reports 500
        sordino size --file pages.yaml --share 0.5%

    One answer: the interval of every query by itself is within the margin, whatever the users hold. All answers: the
    simultaneous band is. A margin is a share of the query's scale, its largest entry less its least: 1 for a share of
    users, the range for a mean of numbers; or it is a number in their unit, "50 ms". For a pairwise statistic it is in
    units of the statistic, as predicted over the reference populations.

    An experiment: how many users, and how many days, find a difference between arms; without a workload of a share.
    """
    if sum(each is not None for each in (margin, difference, reports, share)) != 1:
        raise InvalidValue(
            "give one of --margin, --reports, and --difference for an experiment, or --share for strings", margin
        )
    if share is not None:
        size_strings(context)
    elif reports is not None:
        _size_crowd(context)
    else:
        (_size_statement if difference is None else _size_experiment)(context)


def _size_statement(context: typer.Context) -> None:
    refuse_given(context, _OF_EXPERIMENTS, "they go with --difference, which sizes an experiment")
    given, level = context.params, context.params["level"]
    asked = asked_specification(given["workload"], given["size"], given["file"])
    margin = margin_of(given["margin"], asked)
    statement = Statement(
        margin=margin.share, level=level, difference=given["two_campaigns"], population=given["population"]
    )
    options = {name: given[name] for name in ("objective", "mechanism", "effort", "protocol", "target")}
    shuffled = shuffler_options(given | {"target_error": statement.margin / normal_quantile(level)})
    epsilons = given["epsilon"] or ([shuffled["epsilon"]] if given["collector"] else list(DEFAULT_EPSILONS))
    kind = kind_of_question(asked)
    unused = [name for name in kind.request_class().unused if name in given]
    refuse_given(context, unused, kind.why_unused)
    planned = partial(finished_plan, cache=_cache(given))
    rows = [
        kind.needed_users(asked, statement, PlanningOptions.of(**{"epsilon": each, **options, **shuffled}), planned)
        for each in epsilons
    ]
    if given["as_json"]:
        terms = {name: given[name] for name in ("level", "two_campaigns", "population")}
        print_json(margin.document() | terms | {"rows": [row.document() for row in rows]})
        return
    _print(statement, margin, rows, given["verbose"])


def _size_crowd(context: typer.Context) -> None:
    refuse_given(context, _OF_EXPERIMENTS, "they go with --difference, which sizes an experiment")
    refuse_given(
        context, _NOT_OF_REPORTS, "they do not go with --reports, whose intervals are of the population at 95 %"
    )
    given = context.params
    asked = asked_specification(given["workload"], given["size"], given["file"])
    kind = kind_of_question(asked)
    if kind.why_users is not None:
        raise InvalidValue("--reports is about linear queries; give --margin for a pairwise statistic", asked)
    if kind.reads_reports:
        raise InvalidValue("--reports is about linear queries; give --share for strings", asked)
    options = {name: given[name] for name in ("objective", "mechanism", "effort")}
    planning = [PlanningOptions.of(epsilon=each, **options) for each in given["epsilon"] or DEFAULT_EPSILONS]
    plans = [finished_plan(kind.request_class().of(asked, each), cache=_cache(given)) for each in planning]
    show_crowds(given["reports"], [plan.summary for plan in plans], given["as_json"])


def _cache(given: dict[str, Any]) -> PlanCache | None:
    return None if given["no_cache"] else PlanCache(given["cache_dir"] or default_folder())


def _size_experiment(context: typer.Context) -> None:
    refuse_given(context, _OF_MARGINS, "they do not go with --difference, which sizes an experiment")
    given = context.params
    named = given["workload"] is not None or given["size"] is not None or given["file"] is not None
    question = asked_specification(given["workload"], given["size"], given["file"]) if named else _YES_OR_NO
    difference = margin_of(given["difference"], question, "--difference")
    rule = {} if given["collector"] is None else {"looks": looks_behind_shuffler(context)}
    asked = ExperimentSize.of(given | rule, difference.share, str(difference))
    kind, planned = kind_of_question(question), partial(finished_plan, cache=_cache(given))
    noise = partial(kind.noise_of_arms, question, planned=planned)
    options = {name: given[name] for name in ("objective", "mechanism", "effort")}
    shuffled = shuffler_options(given | {"target_error": asked.error_of_an_arm() * difference.scale})
    if given["collector"] is not None:
        first = noise(PlanningOptions.of(**options | shuffled))
        shuffled["target_error"] = asked.error_of_an_arm(first) * difference.scale
        found = noise(PlanningOptions.of(**options | shuffled))
        asked.show([asked.row(found.plan.device.guarantee.epsilon, found)], given["as_json"])
        return
    planning = [PlanningOptions.of(epsilon=each, **options) for each in given["epsilon"] or DEFAULT_EPSILONS]
    rows = [asked.row(float(each.epsilon), noise(each)) for each in planning]
    asked.show(rows, given["as_json"])


def _print(statement: Statement, margin: Margin, rows: list[NeededUsers], verbose: bool) -> None:
    of = "each of two campaigns, for the difference of their answers" if statement.difference else "the campaign"
    console.print(f"users of {of}: ± {margin} at {percent(statement.level)}", highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    pairwise = rows[0].predicted is not None
    table.add_column("ε", justify="right")
    for heading in ("users",) if pairwise else ("one answer", "all answers"):
        table.add_column(heading, justify="right")
    table.add_column("protocol" if pairwise else "mechanism", no_wrap=True)
    for row in rows:
        numbers = (row.users,) if row.band is None else (row.users, row.band)
        table.add_row(row.epsilon, *(f"{number:,}" for number in numbers), row.mechanism)
    print_table(table)
    for row in rows:
        if row.blanket is not None:
            behind = f"behind a shuffler that mixes in {quantity(row.blanket, 'random report')}"
            console.print(f"{behind}; ε {row.epsilon} is that of a device", highlight=False)
    for row in rows if verbose else ():
        _print_queries(row)


def _print_queries(row: NeededUsers) -> None:
    hardest = sorted(row.queries, key=lambda each: -each[1])
    console.print(f"ε = {row.epsilon}", highlight=False)
    for label, users in hardest[:_SHOWN_QUERIES]:
        console.print(f"  {users:>12,}  {label}", highlight=False, markup=False)
    if len(hardest) > _SHOWN_QUERIES:
        console.print(
            f"  and {quantity(len(hardest) - _SHOWN_QUERIES, 'query')} with fewer users (--json has all)",
            highlight=False,
        )


@dataclass(frozen=True, kw_only=True)
class Margin:
    """A half width as a share of the answers' scale; `unit` is that of numbers, whose `scale` all answers have."""

    share: float
    scale: float = 1.0
    unit: str | None = None

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        if self.unit is None:
            return {"margin": self.share}
        return {"margin": self.share, "margin_in_unit": self.share * self.scale, "unit": self.unit}

    def __str__(self) -> str:
        if self.unit is None:
            return chosen(self.share)
        return f"{amount(self.share * self.scale, self.unit)} ({percent(self.share)} of the range)"


def margin_of(text: str, asked: WrittenQuestion, option: str = "--margin") -> Margin:
    """From a share such as 0.01 or 1%, or a number in the unit of the answers such as "50 ms"; of an `option`."""
    written = _MARGIN.fullmatch(text.strip())
    if written is None:
        raise InvalidValue(f'{option} takes a number such as 0.01 or 1%, or "50 ms", not {text!r}', text)
    number, unit = float(written["number"]), written["unit"]
    if not 0 < number < math.inf:
        raise InvalidValue(f'{option} is above 0, such as 0.01, 1% or "50 ms", not {text!r}', text)
    numbers = kind_of_question(asked).scale_and_unit(asked)
    if unit in ("", "%"):
        share = number / (100 if unit else 1)
        return Margin(share=share) if numbers is None else Margin(share=share, scale=numbers[0], unit=numbers[1])
    if numbers is None or unit != numbers[1]:
        asks = "shares or answers of several units" if numbers is None else f"answers in {numbers[1] or 'no unit'}"
        would = f', or "50 {numbers[1]}"' if numbers is not None and numbers[1] else ""
        raise InvalidValue(f"{option} is in {unit}, and the workload asks for {asks}: give 0.01 or 1%{would}", text)
    return Margin(share=number / numbers[0], scale=numbers[0], unit=unit)
