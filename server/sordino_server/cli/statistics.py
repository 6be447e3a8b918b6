"""Text output for pairwise statistics: the compared protocols, and an estimate with its rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from sordino_analysis.documents.plan_summary import PairwiseSummary, PlanSummary
from sordino_analysis.documents.summary_parts import FormBoundSummary, FormManipulation
from sordino_analysis.figures import amount, chosen, figure, ratio
from sordino_server.cli.output import print_table
from sordino_shared.protocol import DevicePart
from sordino_shared.quantities import quantity

TargetOption = Annotated[
    Literal["pairs", "histogram"] | None,
    typer.Option(
        metavar="TARGET",
        help="Pairs of a pairwise statistic: of different users (pairs) or drawn from the histogram (histogram).",
    ),
]


def print_protocols(console: Console, summary: PairwiseSummary, verbose: bool) -> None:
    """The chosen protocol; with `verbose` also the comparison of protocols that a plan's summary holds."""
    if verbose:
        print_table(_protocols(summary), console)
        for row in summary.protocols:
            if row.reason:
                console.print(f"{row.name} was not taken: {row.reason}", highlight=False, markup=False)
    for line in [*_result(summary), *(_details(summary) if verbose else ())]:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _protocols(summary: PairwiseSummary) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("protocol", no_wrap=True)
    for heading in ("predicted error", "seconds"):
        table.add_column(heading, justify="right")
    for row in summary.protocols:
        is_taken = row.name == summary.protocol
        error = "" if row.predicted_rmse is None else figure(row.predicted_rmse)
        name = f"→ {row.name}" if is_taken else f"  {row.name}"
        table.add_row(name, error, figure(row.seconds, 2), style="bold" if is_taken else "")
    return table


def fake_reports(moved: str, linear: float, quadratic: float = 0.0, unit: str | None = None) -> str:
    """How far 1 % of fake reports moves `moved`, of which a share f moves at most linear·f + quadratic·f²."""
    most = 0.01 * linear + 0.0001 * quadratic
    return f"1 % of fake reports can move {moved} by up to {figure(most, 3) if unit is None else amount(most, unit)}"


def shown_manipulation(moved: Mapping[str, FormManipulation]) -> list[str]:
    """The bound on what a share f of fake reports does to every form, by its name."""
    return [
        f"a share f of fake reports in every round moves {form} by at most "
        f"{figure(each.linear)}·f + {figure(each.quadratic)}·f²"
        for form, each in moved.items()
    ]


def shown_bounds(bounds: Mapping[str, FormBoundSummary]) -> list[str]:
    """The lower bound of every form, by its name, and how far the plan is from it."""
    lines = []
    for form, bound in bounds.items():
        whose = "any unbiased protocol" if bound.any_rounds else "any unbiased protocol of one round"
        line = f"users × variance of {form}, worst users: {figure(bound.lower_bound)} or more by {whose}"
        if bound.variance is not None and bound.ratio is not None:
            drawn = f" ± {figure(bound.standard_error, 2)}, from drawn first rounds" if bound.standard_error else ""
            line += f"; this one {figure(bound.variance)}{drawn}: {ratio(bound.ratio)} × the bound"
        lines.append(line)
    return lines


def shown_device_part(summary: PlanSummary) -> str:
    """Size of a device part and the memory that verifying it takes on a device."""
    size, megabytes = summary.device_bytes, math.ceil(summary.device_memory / 1e6)
    leave = "" if size <= DevicePart.usual_limit else f"; apps must allow it by largest_part={size}"
    return f"{size:,} bytes, verified by a device in at most {megabytes:,} MB{leave}"


def _result(summary: PairwiseSummary) -> list[str]:
    lines = [
        f"protocol: {summary.protocol}",
        f"  {summary.statistic}, ε = {chosen(summary.epsilon)}, target {summary.target}",
        f"  predicted error with {quantity(summary.users, 'user')}: {figure(summary.predicted_rmse)}",
    ]
    lines += [f"  {line}" for line in shown_bounds(summary.bounds)]
    lines += [f"  {fake_reports(form, each.linear, each.quadratic)}" for form, each in summary.manipulation.items()]
    if summary.cut_short:
        lines.append(f"  cut short ({summary.cut_short}): more time may give smaller errors")
    return lines


def _details(summary: PairwiseSummary) -> list[str]:
    spent = ", ".join(chosen(epsilon) for epsilon in summary.rounds)
    share = summary.share_of_first_round
    drawn = "" if share is None else f"; each device answers one round, round 0 with probability {figure(share, 3)}"
    return [
        f"{summary.k} types; ε by round: {spent}{drawn}",
        *shown_manipulation(summary.manipulation),
        f"protocol plan {summary.digest}",
        f"device part of round 0 {shown_device_part(summary)}",
        f"analyst part {summary.analyst_bytes:,} bytes",
    ]
