"""What `demo` and `simulate` say at the end: a table for people, one object for programs, a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sordino_analysis.charts import AnswerChart
from sordino_server.cli.simulation.campaign import CampaignResult
from sordino_server.cli.simulation.comparison import Comparison

_ROWS = 14


def result_document(result: CampaignResult) -> dict[str, Any]:
    """The figures of a campaign under the names that `--json` promises."""
    plan, estimates, comparison = result.plan, result.estimates, result.comparison
    return {
        "campaign": result.campaign,
        "users": estimates["users"],
        "epsilon": estimates["epsilon"],
        "workload": plan["workload"],
        "queries": len(comparison.truth),
        "mechanism": plan["mechanism"],
        "objective": plan["objective"],
        "lower_bound_max": plan["lower_bound_max"],
        "ratio_max": plan["ratio_max"],
        "max_abs_error": comparison.max_abs_error,
        "rms_error": comparison.rms_error,
        "predicted_max_rmse": estimates["predicted_rmse_max"],
        "level": estimates["level"],
        "interval_coverage": comparison.interval_coverage,
        "band_holds": comparison.band_holds,
        "answers": comparison.answers(),
        "apps": result.apps.reports,
        "app_reports_per_second": result.apps.per_second,
        "fleet": result.fleet.reports,
        "reports_per_second": result.fleet.per_second or result.apps.per_second,
        "stage_seconds": dict(result.seconds),
        "digests": dict(estimates["plan"]),
        "warnings": list(estimates["warnings"]),
    }


def print_result(console: Console, result: CampaignResult, places: Mapping[str, str]) -> None:
    """The table of answers, what is to be said about all of them, and what was written where."""
    comparison = result.comparison
    shown = comparison.shown(_ROWS)
    console.print(_answers(comparison, shown, float(result.estimates["level"])))
    if len(shown) < len(comparison.truth):
        console.print(f"{len(shown)} of {len(comparison.truth)} answers shown.")
    facts = Table.grid(padding=(0, 2))
    for name, value in (*_facts(result), *places.items()):
        facts.add_row(Text(name, style="bold"), Text(value, overflow="fold"))
    console.print()
    console.print(facts)


def answer_chart(
    comparison: Comparison, title: str, subtitle: str, axis: str, ticks: Sequence[tuple[float, str]], steps: bool
) -> AnswerChart:
    """The chart of all answers in the workload's order."""
    return AnswerChart(
        title=title,
        subtitle=subtitle,
        axis=axis,
        truth=comparison.truth.tolist(),
        estimate=comparison.estimate.tolist(),
        lower=comparison.band[:, 0].tolist(),
        upper=comparison.band[:, 1].tolist(),
        ticks=ticks,
        steps=steps,
    )


def _answers(comparison: Comparison, shown: Sequence[int], level: float) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("query", overflow="fold")
    for heading in ("truth", "estimate", f"{100 * level:g} % interval", "inside?"):
        table.add_column(heading, justify="right", no_wrap=True)
    for index in shown:
        low, high = comparison.interval[index]
        table.add_row(
            comparison.labels[index],
            _percent(comparison.truth[index]),
            _percent(comparison.estimate[index]),
            f"{_percent(low)} … {_percent(high)}",
            "yes" if comparison.inside[index] else "[bold]no[/]",
        )
    return table


def _facts(result: CampaignResult) -> list[tuple[str, str]]:
    plan, estimates, comparison = result.plan, result.estimates, result.comparison
    inside, count = int(comparison.inside.sum()), len(comparison.truth)
    held = (
        "the truth of every answer lies inside" if comparison.band_holds else "the truth of some answers lies OUTSIDE"
    )
    return [
        ("intervals", f"{inside} of {count} hold the truth ({comparison.interval_coverage:.1%})"),
        ("band", f"{held} the simultaneous {estimates['level']:.0%} band"),
        (
            "error",
            f"predicted at most {_percent(estimates['predicted_rmse_max'])} rms for any answer and any population; "
            f"achieved {_percent(comparison.rms_error)} rms over all answers, "
            f"{_percent(comparison.max_abs_error)} at worst",
        ),
        ("mechanism", f"{plan['mechanism']}, ε = {estimates['epsilon']:g} a device; {_ratio(plan)}"),
        ("devices", _devices(result)),
        *(("warning", warning) for warning in estimates["warnings"]),
    ]


def _ratio(plan: Any) -> str:
    if plan["ratio_max"] is None:
        return "the certified lower bound says nothing at this ε"
    return (
        f"variance {plan['max_variance']:.4g} a device for the worst answer, {plan['ratio_max']:.3f} times the "
        "certified lower bound for unbiased one-round mechanisms"
    )


def _devices(result: CampaignResult) -> str:
    apps, fleet = result.apps, result.fleet
    parts = []
    if apps.reports:
        parts.append(
            f"{apps.reports:,} took an app's whole path (own ledger file, own proof of ε, one report a request): "
            f"{apps.per_second:,.0f} a second"
        )
    if fleet.reports:
        parts.append(
            f"{fleet.reports:,} shared one proved plan and one connection, with ledgers in memory and batches of up to "
            f"4096 reports: {fleet.per_second:,.0f} a second, randomised, sent and committed"
        )
    return "; ".join(parts)


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %".replace("-", "−")
