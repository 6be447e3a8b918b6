"""`sordino plan --trust curator`: the error of a release from rows that an operator holds."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino_analysis.curator.audit import part_of
from sordino_analysis.curator.plan import FAMILIES, fits, plan_release
from sordino_analysis.curator.projected_errors import projected_summary
from sordino_analysis.curator.projected_plan import plan_projection
from sordino_analysis.documents.curator_part import CuratorPart
from sordino_analysis.documents.curator_summary import CuratorSummary
from sordino_analysis.figures import figure
from sordino_analysis.guarantees import Guarantee
from sordino_analysis.guarantees.approximate import DELTA, Approximate
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.questions.linear import WorkloadSpecification
from sordino_analysis.questions.question import WrittenQuestion
from sordino_analysis.request_terms import Neighbours
from sordino_server.cli.candidates import CURATOR_MECHANISMS, PROJECTIONS
from sordino_server.cli.curator_projection import projection_lines
from sordino_server.cli.curator_promise import promise_text
from sordino_server.cli.output import console, fail, print_json
from sordino_server.cli.sigint import finishing_when_asked
from sordino_server.cli.unused_options import refuse_given
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.quantities import quantity


class Trust(StrEnum):
    """Who sees the rows: nobody but the device, or a curator."""

    LOCAL = "local"
    CURATOR = "curator"


TrustOption = Annotated[Trust, typer.Option(help="Who sees the rows: only the devices, or a curator that holds them.")]
RhoOption = Annotated[
    str | None, typer.Option(metavar="R", help="ρ of one release with --trust curator, such as 0.02.")
]
DeltaOption = Annotated[
    str | None,
    typer.Option(
        metavar="D",
        help="With --epsilon of a curator: (ε, δ), for which pure ε and Gaussian noise are compared; without it ε is "
        "pure. With --rho: the δ at which ε is shown, 1e-6 if left out.",
    ),
]
NeighboursOption = Annotated[
    Neighbours,
    typer.Option(
        metavar="replace|add-remove",
        help="With --trust curator: hide what one person's row holds, or also whether it is there, which keeps the "
        "number of people secret.",
    ),
]
CURATOR_FILE, SUMMARY_FILE = "curator.cbor", "plan.json"
_NEIGHBOURS = {
    "replace": "one row may be replaced by any other",
    "add-remove": "one row may be added or removed; the number of people is secret, and answered as one more query",
}
_OF_CURATORS = ("rho", "delta", "neighbours")
_OF_DEVICES = (
    *("target_error", "reduction", "robust", "effort", "protocol", "target"),
    *("seed", "no_cache", "cache_dir", "verbose", "collector", "device_epsilon", "weak_epsilon"),
)


def check_trust(context: typer.Context) -> Trust:
    """Who is trusted; ends the command where an option of the other kind of plan is given, or the price is missing."""
    trust = Trust(context.params["trust"])
    if trust is Trust.LOCAL:
        refuse_given(context, _OF_CURATORS, "they apply to --trust curator; a device spends --epsilon")
        if context.params["epsilon"] is None and context.params["collector"] is None:
            fail("give --epsilon, the ε of one report, such as 1 or 0.5, or --collector with a shuffler", code=2)
        return trust
    refuse_given(context, _OF_DEVICES, "they apply to plans of devices; a curator spends --rho or --epsilon")
    if (context.params["rho"] is None) == (context.params["epsilon"] is None):
        fail("give --rho, the ρ of one release, such as 0.02, or --epsilon, pure or with --delta", code=2)
    return trust


def print_curator_plan(context: typer.Context, specification: WrittenQuestion) -> None:
    """Plan and print; raises InvalidValue for a pairwise statistic, or a ρ or δ that is no number in its range."""
    if not isinstance(specification, WorkloadSpecification):
        raise InvalidValue(
            "a curator's plan is for linear queries; this file holds a pairwise statistic", specification
        )
    options = context.params
    delta = delta_of(options["delta"])
    asked = asked_of(options["rho"], options["epsilon"], options["delta"])
    workload, objective, users = specification.build(), options["objective"], options["users"]
    projection = options["mechanism"] if options["mechanism"] in PROJECTIONS else None
    families = families_of(None if projection else options["mechanism"])
    with finishing_when_asked() as interrupted:
        stop = Deadline(_limit(options["time_limit"]), interrupted).passed
        if projection is not None:
            projected = plan_projection(projection, workload, asked, users, options["neighbours"])
            best = plan_release(workload, asked, "mean", users, stop) if fits(workload) else None
            compared = projected_summary(projected, best, delta)
            _show(part_of(projected), compared.model_dump(mode="json"), projection_lines(compared), options)
            return
        plan = plan_release(workload, asked, objective, users, stop, options["neighbours"], families)
    summary = plan.summary(delta)
    _show(part_of(plan), json.loads(summary.text()), _lines(summary), options)


def _show(part: CuratorPart, figures: dict[str, Any], lines: Sequence[str], options: Mapping[str, Any]) -> None:
    """Write the plan where a folder is given, and print its figures."""
    output = options["output"]
    if output is not None:
        _write(part, figures, output)
    if options["as_json"]:
        print_json(figures)
        return
    written = () if output is None else (f"written to {output}/: {CURATOR_FILE}, {SUMMARY_FILE}",)
    for line in (*lines, *written):
        console.print(line, highlight=False)


def _write(part: CuratorPart, figures: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CURATOR_FILE).write_bytes(part.content)
    figures = figures | {"digests": {"curator": str(part.digest)}}
    (folder / SUMMARY_FILE).write_text(json.dumps(figures, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def asked_of(rho: str | None, epsilon: str | None, delta: str | None) -> Guarantee | Approximate:
    """ρ as given, pure ε where no δ is, or (ε, δ); raises InvalidValue."""
    if rho is not None:
        return Zcdp.of(rho)
    if delta is None:
        return PureEpsilon.of(str(epsilon))
    return Approximate(PureEpsilon.at_most(str(epsilon)).nano, delta_of(delta))


def families_of(mechanism: str | None) -> Sequence[str]:
    """What is compared: all, or the family of this name; raises InvalidValue for another name."""
    if mechanism is None:
        return FAMILIES
    if mechanism not in CURATOR_MECHANISMS:
        known = ", ".join(CURATOR_MECHANISMS)
        raise InvalidValue(f"a curator's --mechanism is one of {known}, got {mechanism!r}", mechanism)
    return (mechanism,)


def _limit(seconds: float | None) -> float | None:
    if seconds is not None and not 0 <= seconds < math.inf:
        raise InvalidValue(f"a time limit is a number of seconds of at least 0, got {seconds}", seconds)
    return seconds


def delta_of(written: str | None) -> Fraction:
    """δ as a person writes it; raises InvalidValue."""
    if written is None:
        return DELTA
    try:
        # As a float, an exponent like −10⁹ is zero and is refused with its range.
        return Fraction(float(written)).limit_denominator(10**15)
    except (ValueError, OverflowError) as error:
        raise InvalidValue(f"δ must be a number such as 1e-6, got {written!r}", written) from error


def _lines(summary: CuratorSummary) -> list[str]:
    lines = [
        f"mechanism: {summary.mechanism}, of a curator that holds the rows",
        f"  {summary.workload}, {promise_text(summary)}, {_NEIGHBOURS[summary.neighbours]}",
        f"  variance of a count, worst query: {figure(summary.max_variance, 6)}{_ratio(summary.ratio_max)}",
        f"  variance of a count, mean: {figure(summary.mean_variance, 6)}{_ratio(summary.ratio_mean)}",
    ]
    for other in summary.considered[1:]:
        found = other.max_variance if summary.objective == "max" else other.mean_variance
        kept = "under ρ" if other.guarantee == "zcdp" else "under pure ε"
        lines.append(f"  instead {other.mechanism}, {kept}: {figure(found, 6)}")
    if summary.many_people_bound_mean is not None:
        ratio = figure(summary.mean_variance / summary.many_people_bound_mean)
        lines.append(
            f"  {ratio} × what no mechanism's mean square error is below as the number of people grows, biased ones "
            "included, for rows of any weight up to 1"
        )
    if summary.rho is None:
        lines.append(f"  where a cap on ρ counts it, it costs ρ = {figure(summary.rho_cost)}")
    if summary.premise is not None:
        lines.append(f"  the bounds hold for unbiased releases if {summary.premise}; if not, less is proved")
    lines.append(
        f"  half the error of knowing nothing from about {summary.useful_from_n:,} people on (for types with shares as "
        "1/rank^1.2)"
    )
    if summary.users is not None and summary.predicted_max_rmse is not None:
        error = figure(summary.predicted_max_rmse)
        lines.append(f"  error of a share of {quantity(summary.users, 'user')}, worst query: {error}")
    return lines + [f"warning: {warning}" for warning in summary.warnings]


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f", {figure(ratio)} × the lower bound"
