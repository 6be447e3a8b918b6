"""Statistics of pairs for people: the protocols that were compared, and an estimate with its rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from sordino_shared.protocol import DevicePart

TargetOption = Annotated[
    Literal["pairs", "histogram"] | None,
    typer.Option(help="A statistic's mean over pairs of different users, or that of the histogram."),
]


def print_protocols(console: Console, summary: Mapping[str, Any]) -> None:
    """The comparison of protocols that a plan's summary holds."""
    table = Table(title=f"{summary['statistic']} · ε = {summary['epsilon']:g} · {summary['users']:,} users")
    table.add_column("protocol", no_wrap=True)
    for heading in ("predicted error", "seconds"):
        table.add_column(heading, justify="right")
    for row in summary["protocols"]:
        chosen = row["name"] == summary["protocol"]
        error = "" if row["predicted_rmse"] is None else f"{row['predicted_rmse']:.4g}"
        name = f"→ {row['name']}" if chosen else f"  {row['name']}"
        table.add_row(name, error, f"{row['seconds']:.2f}", style="bold" if chosen else "")
    console.print(table)
    for row in summary["protocols"]:
        if row["reason"]:
            console.print(f"{row['name']} was not taken: {row['reason']}", highlight=False, markup=False)
    for line in _lines(summary):
        console.print(line, highlight=False, markup=False)


def shown_manipulation(moved: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What a share f of made-up reports does to every form, by its name."""
    return [
        f"if a share f of the reports of every round is made up, {form} moves by at most "
        f"{each['linear']:.4g}·f + {each['quadratic']:.4g}·f²"
        for form, each in moved.items()
    ]


def shown_device_part(summary: Mapping[str, Any]) -> str:
    """The size of a device part, and what a device needs for it."""
    size, megabytes = summary["device_bytes"], math.ceil(summary["device_memory"] / 1e6)
    leave = "" if size <= DevicePart.usual_limit else f"; apps must allow it by largest_part={size}"
    return f"{size:,} bytes, verified by a device in at most {megabytes:,} MB{leave}"


def _lines(summary: Mapping[str, Any]) -> list[str]:
    spent = ", ".join(f"{epsilon:g}" for epsilon in summary["rounds"])
    share = summary["share_of_first_round"]
    drawn = "" if share is None else f"; each device answers one round, round 0 with probability {share:.3g}"
    lines = [
        f"{summary['k']} types, target {summary['target']}; ε by round: {spent}{drawn}",
        *shown_manipulation(summary["manipulation"]),
        f"protocol plan {summary['digest']}",
        f"device part of round 0 {shown_device_part(summary)}",
        f"analyst part {summary['analyst_bytes']:,} bytes",
    ]
    if summary["cut_short"]:
        lines.append(f"cut short ({summary['cut_short']}): with more time the predicted errors may be lower")
    return lines


def print_statistic(console: Console, document: Mapping[str, Any]) -> None:
    """An estimate of a statistic with its interval, its rounds and its warnings."""
    low, high = document["interval"]
    wide_low, wide_high = document["population_interval"]
    percent = f"{100 * document['level']:g} %"
    lines = [
        f"{document['statistic']}: {_number(document['value'])}",
        f"of the users who reported: standard error {_number(document['standard_error'])}, "
        f"{percent} interval {low:.5f} … {high:.5f}",
        f"of their population: standard error {_number(document['population_standard_error'])}, "
        f"{percent} interval {wide_low:.5f} … {wide_high:.5f}",
        f"protocol {document['protocol']['name']}, target {document['target']}, ε = {document['epsilon']:g} a device; "
        f"predicted error {document['predicted_rmse']:.4g}",
    ]
    lines += [
        f"round {each['index']}: {each['users']:,} reports of {each['expected_users']:,.0f} expected, "
        f"ε = {each['epsilon']:g}"
        for each in document["rounds"]
    ]
    if document["clipped"]:
        lines.append(f"clipped: {document['clipped']}")
    for line in lines:
        console.print(line, highlight=False, markup=False)
    for warning in document["warnings"]:
        console.print(warning, style="yellow", highlight=False, markup=False)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.5f}"
