"""`sordino simulate`: run a campaign whose devices hold the rows of a CSV file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from sordino_analysis.analyst.tables import ColumnError, Table, device_values, is_absent, number_in, read_table
from sordino_analysis.charts import AnswerChart
from sordino_analysis.experiments.looks import Looks
from sordino_analysis.figures import chosen
from sordino_analysis.kinds.specifications import load_question
from sordino_analysis.planning_options import DEFAULT_DEVICE_EPSILON, PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.questions.question import WrittenQuestion
from sordino_analysis.requests import kind_of_question
from sordino_analysis.vectorized.randomness import SeededRandomness, uniform_below
from sordino_server.cli.candidates import MechanismOption, ObjectiveOption, ProtocolOption
from sordino_server.cli.experiment_options import LooksOption, looks_behind_shuffler
from sordino_server.cli.local_planning import Kind
from sordino_server.cli.output import JsonOption, VerboseOption, reports_errors
from sordino_server.cli.shuffler_options import CollectorOption, ErrorOption, collector_terms
from sordino_server.cli.simulate_arms import (
    OF_ARMS,
    OF_CAMPAIGNS,
    DailyUsersOption,
    DaysOption,
    EffectOption,
    PrimaryOption,
    SimulatedArmsOption,
    simulate_arms,
)
from sordino_server.cli.simulation.campaign import CampaignResult, CampaignTerms, check_users
from sordino_server.cli.simulation.labelled import labelled_rows
from sordino_server.cli.simulation.presented_run import ChartOfResult, PresentedRun
from sordino_server.cli.simulation.run import RemoteServer, TemporaryServerKeyOption, TemporaryServerOption
from sordino_server.cli.simulation.summary import answer_chart
from sordino_server.cli.simulation.working_folder import check_writable
from sordino_server.cli.unused_options import is_given, refuse_given
from sordino_shared.domains import MISSING, OTHER, Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, check_round_guarantee
from sordino_shared.quantities import quantity

MOST_CATEGORIES = 256
_NAME = "simulation of "
_OF_PLAN = ("epsilon", "seed", "time_limit", "mechanism", "protocol", "objective")


LabelOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Find the rule about the other columns that predicts this one.")
]
PositiveOption = Annotated[
    str | None, typer.Option(metavar="VALUE", help="With --label: its value that is predicted, of two.")
]
WidthOption = Annotated[
    int, typer.Option(min=1, max=8, metavar="W", help="With --label: columns that a rule may combine, 1 to 8.")
]
CertifyOption = Annotated[
    bool, typer.Option("--certify", help="With --label: three rounds; the rule that is left gets an interval.")
]
ColumnOption = Annotated[
    list[str],
    typer.Option(metavar="NAME", help="Column that a device holds. With --spec: ATTRIBUTE=COLUMN, repeated."),
]
WorkloadOption = Annotated[
    Kind, typer.Option(metavar="KIND", help=f"Queries of one column: {', '.join(get_args(Kind))}.")
]
BinsOption = Annotated[
    int, typer.Option(min=2, max=4096, metavar="N", help="Number of equal bins when --edges is absent, 2 to 4096.")
]
SpecOption = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Workload file instead of --workload, --edges, --bins.")
]
UsersOption = Annotated[
    int | None,
    typer.Option("--users", metavar="N", help="Devices, each with a row drawn at random; default: one for each row."),
]
CategoricalOption = Annotated[
    bool, typer.Option("--categorical", help="Count the column by distinct value, even if it has numbers.")
]
QuantileBinsOption = Annotated[
    bool, typer.Option("--quantile-bins", help="Cut --bins bins with equal counts, not of equal width.")
]
RepeatOption = Annotated[
    int, typer.Option(min=1, max=1000, metavar="R", help="Run R campaigns with fresh noise and count what holds.")
]
AppsOption = Annotated[
    int, typer.Option(min=0, metavar="N", help="Devices that run the SDK as an app does, each with a ledger file.")
]


@reports_errors
def simulate(
    context: typer.Context,
    csv: Annotated[Path, typer.Option("--csv", metavar="PATH", help="CSV file with a header; each row is one device.")],
    column: ColumnOption = [],  # noqa: B006
    label: LabelOption = None,
    positive: PositiveOption = None,
    width: WidthOption = 2,
    certify: CertifyOption = False,
    epsilon: Annotated[float, typer.Option(metavar="E", help="ε per device for the campaign.")] = 1.0,
    workload: WorkloadOption = "histogram",
    edges: Annotated[str | None, typer.Option(metavar="LIST", help="Bin edges of a numeric column: 0,10,20.5")] = None,
    bins: BinsOption = 32,
    quantile_bins: QuantileBinsOption = False,
    categorical: CategoricalOption = False,
    spec: SpecOption = None,
    users: UsersOption = None,
    repeat: RepeatOption = 1,
    mechanism: MechanismOption = None,
    protocol: ProtocolOption = None,
    objective: ObjectiveOption = "max",
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="Longest search for a mechanism.")] = 60.0,
    apps: AppsOption = 20,
    arms: SimulatedArmsOption = None,
    effect: EffectOption = "0",
    days: DaysOption = 30,
    daily: DailyUsersOption = None,
    primary: PrimaryOption = None,
    looks: LooksOption = Looks.PLANNED,
    collector: CollectorOption = None,
    target_error: ErrorOption = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the plan and the devices.")] = 0,
    server: TemporaryServerOption = None,
    key: TemporaryServerKeyOption = None,
    chart: Annotated[Path | None, typer.Option(metavar="PATH", help="Write a chart (SVG) to this file.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep database, log, ledgers and estimates.")] = False,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a campaign on the rows of a CSV file and compare the estimates with the truth.

    Example:

        sordino simulate --csv arrivals.csv --column delay --workload prefix

    Without --spec the campaign covers one column. Numbers are cut into bins; other values are counted by distinct
    value. Absent values become `missing`, rare ones `other`. Bins and categories come from the file itself. In a real
    campaign this would leak: write them into a workload file beforehand. Its protocol runs all rounds.

    --label compares rules such as `A and not B` about the other columns, or those of --column, by how well they predict
    a column of two values: about a column of more, its four most frequent ones, or whether it is above its median.

    --repeat runs several campaigns on the same devices and prints how often the intervals and the band hold the truth.

    --arms 2 --effect 0 runs 1,000 experiments, or --repeat, on users drawn from the rows, without a server, and prints
    how often the rule of looks finds a difference that is not there; another --effect prints how often it finds it.
    With --collector and --target-error, that of one arm, they are behind a shuffler, which adds random reports to each
    arm; --epsilon is then the most that a device spends, 4 unless given.
    """
    _simulate(context)


def _simulate(context: typer.Context) -> None:
    given = context.params
    remote = RemoteServer.of(given["server"], given["key"])
    run = PresentedRun(remote=remote, **{name: given[name] for name in ("apps", "keep", "verbose", "as_json")})
    check_round_guarantee(PureEpsilon.of(given["epsilon"]))
    written = None if given["spec"] is None else load_question(given["spec"])
    _refuse_unused(context, written)
    if given["chart"] is not None:
        check_writable(given["chart"])
    asked, rows = _asked(given, written)
    if given["arms"] is not None:
        simulate_arms(*_of_arms(context, asked), rows)
        return
    values = _drawn(rows, given["users"], given["seed"])
    _run(run, _terms(context, asked, len(values), given["csv"].name), values, given["repeat"], given["chart"])


def _asked(given: dict[str, Any], written: WrittenQuestion | None) -> tuple[WrittenQuestion, list[dict[str, object]]]:
    """The question, and what every device holds."""
    csv, columns = given["csv"], given["column"]
    if given["label"] is not None:
        terms = given["label"], given["positive"], columns, given["width"]
        return labelled_rows(csv, *terms, certify=given["certify"])
    binning = Binning(
        edges=_edges(given["edges"]),
        bins=given["bins"],
        quantiles=given["quantile_bins"],
        categorical=given["categorical"],
    )
    return _specified(csv, columns, written, given["workload"], binning)


def _run(run: PresentedRun, terms: CampaignTerms, values: Sequence[object], repeat: int, chart: Path | None) -> None:
    """The campaign once with its chart, or several times."""
    fields, source = {"seed": terms.plan["seed"]}, terms.name.removeprefix(_NAME)
    if repeat > 1:
        run.repeated(terms, values, repeat, fields=fields)
        return
    drawn = None if chart is None else ChartOfResult(path=chart, drawn=lambda result: _chart(result, source))
    run.once(terms, values, fields=fields, chart=drawn)


def _terms(context: typer.Context, question: WrittenQuestion, users: int, source: str) -> CampaignTerms:
    """The plan request has the options that the kind of question uses."""
    unused = kind_of_question(question).request_class().unused
    plan = {name: context.params[name] for name in _OF_PLAN if name not in unused} | {"users": users}
    return CampaignTerms(
        question=question,
        plan=plan,
        name=f"{_NAME}{source}"[:200],
        purpose="A simulation: no real device takes part.",
        population="simulation",
    )


def _options(context: typer.Context, question: WrittenQuestion) -> PlanningOptions:
    unused = kind_of_question(question).request_class().unused
    return PlanningOptions.of(**{name: context.params[name] for name in _OF_PLAN if name not in unused})


def _of_arms(
    context: typer.Context, question: WrittenQuestion
) -> tuple[dict[str, Any], WrittenQuestion, PlanningOptions]:
    """The parameters of experiments, the question and the options of its plan, behind a shuffler if one is named."""
    given, options = context.params, _options(context, question)
    shuffled = collector_terms(given["collector"], given["target_error"])
    if not shuffled:
        return given, question, options
    if not is_given(context, "epsilon"):
        shuffled["epsilon"] = DEFAULT_DEVICE_EPSILON
    rule = {"looks": looks_behind_shuffler(context)}
    return given | rule, question, PlanningOptions.of(**options.model_dump() | shuffled)


def _refuse_unused(context: typer.Context, written: WrittenQuestion | None) -> None:
    if context.params["arms"] is None:
        refuse_given(context, OF_ARMS, "there is no --arms, which simulates experiments")
    else:
        refuse_given(context, OF_CAMPAIGNS, "--arms simulates experiments without a server")
    if context.params["label"] is None:
        refuse_given(context, ("positive", "width", "certify"), "there is no --label that is predicted")
    else:
        others = ("workload", "edges", "bins", "quantile_bins", "categorical", "spec", "chart", "repeat", "protocol")
        refuse_given(context, others, "--label compares rules")
    if written is not None:
        of_column = ("workload", "edges", "bins", "quantile_bins", "categorical")
        refuse_given(context, of_column, "the workload file defines the queries")
        kind = kind_of_question(written)
        refuse_given(context, kind.request_class().unused, kind.why_unused)
        refuse_given(context, () if kind.has_band else ("chart",), "a chart shows several answers with their band")
    else:
        refuse_given(context, ("protocol",), "only a pairwise statistic (--spec) has a protocol")
    if context.params["repeat"] > 1:
        refuse_given(context, ("chart", "keep"), "it is of one campaign, and --repeat runs several")
    if context.params["categorical"] or context.params["edges"] is not None:
        refuse_given(context, ("quantile_bins",), "the column is not cut into bins of its own")
    if context.params["categorical"]:
        refuse_given(context, ("edges", "bins"), "--categorical counts distinct values")


def _specified(
    csv: Path,
    columns: Sequence[str],
    written: WrittenQuestion | None,
    kind: Kind,
    binning: Binning,
) -> tuple[WrittenQuestion, list[dict[str, object]]]:
    """The workload, from its file or inferred, and what every device holds."""
    if written is None:
        if len(columns) != 1:
            raise InvalidValue("several columns need a workload file: give --spec", columns)
        table = read_table(csv, columns)
        specification = parse_specification(inferred_specification(table, columns[0], kind, binning))
        return specification, device_values(table, specification.build().domain, {columns[0]: columns[0]})
    domain = kind_of_question(written).held_domain(written)
    places = _columns_of(domain, columns)
    return written, device_values(read_table(csv, list(places.values())), domain, places)


def _drawn(rows: list[dict[str, object]], users: int | None, seed: int) -> list[dict[str, object]]:
    """What `users` devices hold: rows drawn with replacement; every row once where no number is given."""
    check_users(len(rows) if users is None else users)
    if users is None:
        return rows
    chosen = uniform_below(SeededRandomness(seed), len(rows), users)
    return [rows[index] for index in chosen.tolist()]


def _columns_of(domain: Domain, columns: Sequence[str]) -> Mapping[str, str]:
    """The column of each attribute: ATTRIBUTE=COLUMN, or a column of the attribute's name, or the only one there is."""
    names = domain.value_names
    if len(names) == len(columns) == 1 and not columns[0].startswith(f"{names[0]}="):
        return {names[0]: columns[0]}
    pairs = dict(_pair(text, names) for text in columns)
    if set(pairs) != set(names):
        raise InvalidValue(
            f"the workload has the attributes {', '.join(names)}: give --column ATTRIBUTE=COLUMN once for each",
            list(columns),
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
        raise InvalidValue(f"--edges takes numbers separated by commas, such as 0,10,20.5, not {text!r}") from error


def _chart(result: CampaignResult, source: str) -> AnswerChart:
    comparison, terms = result.comparison, result.estimate.terms
    places = range(0, len(comparison.truth), max(1, len(comparison.truth) // 8))
    return answer_chart(
        comparison,
        title=f"{source}: {quantity(result.estimate.users, 'device')}, ε = {chosen(result.estimate.epsilon)}",
        subtitle=f"{result.question_name}, {terms['mechanism']}",
        axis="answers in the workload's order",
        ticks=[(float(place), comparison.labels[place]) for place in places],
        steps=True,
    )


@dataclass(frozen=True, kw_only=True)
class Binning:
    """How a column becomes an attribute: at `edges`, in `bins` bins of equal width or of equal counts, or by value."""

    edges: Sequence[float] | None = None
    bins: int = 32
    quantiles: bool = False
    categorical: bool = False


def inferred_specification(table: Table, column: str, kind: str, binning: Binning) -> dict[str, Any]:
    """A workload on one column, with `missing` and `other`: bins if most values are numbers, categories if not.

    Raises `ColumnError` where the column cannot be cut or counted like that.
    """
    present = [text.strip() for text in table.columns[column] if not is_absent(text.strip())]
    numbers = [number for number in map(number_in, present) if number is not None]
    attribute: dict[str, Any] = {"name": column, "missing": True, "other": True}
    if not binning.categorical and (binning.edges is not None or 2 * len(numbers) > len(present)):
        attribute |= {"kind": "ordinal", "edges": _edges_of(table.path, column, numbers, binning)}
    else:
        attribute |= {"kind": "categorical", "labels": _categories(table.path, column, present)}
    return {"name": f"{column}, {kind}", "domain": [attribute], "queries": kind}


def _edges_of(path: Path, column: str, numbers: Sequence[float], binning: Binning) -> list[float]:
    if binning.edges is not None:
        return list(binning.edges)
    return (_equal_counts if binning.quantiles else _equal_bins)(path, column, numbers, binning.bins)


def _equal_bins(path: Path, column: str, numbers: Sequence[float], bins: int) -> list[float]:
    low, high = min(numbers), max(numbers)
    step = (high - low) / bins
    edges = [float(f"{low + index * step:.6g}") for index in range(1, bins)]
    if any(b <= a for a, b in pairwise(edges)) or step == 0:
        raise ColumnError(path, f"column {column!r} cannot be cut into {bins} equal bins: give --edges or fewer --bins")
    return edges


def _equal_counts(path: Path, column: str, numbers: Sequence[float], bins: int) -> list[float]:
    """Edges at values of the column, with as nearly equal counts between them as ties allow; at most bins − 1."""
    ordered = sorted(numbers)
    edges = {ordered[len(ordered) * index // bins - 1] for index in range(1, bins) if len(ordered) * index >= bins}
    edges.discard(ordered[-1])
    if not edges:
        raise ColumnError(path, f"column {column!r} has one value: there is nothing to cut; give --edges")
    return sorted(edges)


def _categories(path: Path, column: str, present: Sequence[str]) -> list[str]:
    labels = sorted(set(present) - {MISSING, OTHER})
    if not 1 <= len(labels) <= MOST_CATEGORIES:
        raise ColumnError(
            path,
            f"column {column!r} has {len(labels)} different values, and 1 to {MOST_CATEGORIES} can "
            "be counted: list those that matter in a workload file (--spec), the rest becomes `other`",
        )
    return labels
