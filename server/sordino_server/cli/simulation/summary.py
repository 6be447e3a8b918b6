"""Results of `demo` and `simulate`: text for people, one JSON object for programs, a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sordino_analysis.charts import AnswerChart
from sordino_analysis.figures import amount, span
from sordino_analysis.percentages import percent
from sordino_server.cli.output import print_table
from sordino_server.cli.simulation.campaign import CampaignResult
from sordino_server.cli.simulation.comparison import TruthComparison

_ROWS = 6
# Answers without bias have that of their decoder's floats.
_ROUNDING = 1e-9


def result_document(result: CampaignResult) -> dict[str, Any]:
    """The results of a campaign under the names that `--json` documents."""
    plan, estimates, comparison = result.plan, result.estimates, result.comparison
    return {
        "campaign": result.campaign,
        "users": estimates["users"],
        "epsilon": estimates["epsilon"],
        "workload": plan["workload"],
        "queries": len(comparison.truth),
        "unlisted": estimates["unlisted"],
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


def print_result(console: Console, result: CampaignResult, places: Mapping[str, str], verbose: bool) -> None:
    """Some answers, the errors over all of them, and the files written; every answer with `verbose`."""
    comparison = result.comparison
    shown = comparison.shown(len(comparison.truth) if verbose else _ROWS)
    print_table(_answers(comparison, shown, float(result.estimates["level"])))
    if len(shown) < len(comparison.truth):
        console.print(
            f"{len(shown)} of {len(comparison.truth)} answers shown; --verbose shows all and the report rates."
        )
    facts = Table.grid(padding=(0, 2))
    for name, value in (*_facts(result), *(_details(result) if verbose else ()), *places.items()):
        facts.add_row(Text(name, style="bold"), Text(value, overflow="fold"))
    console.print()
    console.print(facts)


def answer_chart(
    comparison: TruthComparison, title: str, subtitle: str, axis: str, ticks: Sequence[tuple[float, str]], steps: bool
) -> AnswerChart:
    """The chart of all answers in the workload's order."""
    return AnswerChart(
        title=title,
        subtitle=subtitle,
        axis=axis,
        truth=comparison.truth.tolist(),
        estimate=comparison.value.tolist(),
        lower=comparison.band[:, 0].tolist(),
        upper=comparison.band[:, 1].tolist(),
        ticks=ticks,
        steps=steps,
        unit=comparison.unit,
    )


def _answers(comparison: TruthComparison, shown: Sequence[int], level: float) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("query", overflow="fold")
    for heading in ("truth", "estimate", f"{percent(level)} interval", "inside?"):
        table.add_column(heading, justify="right", no_wrap=True)
    for index in shown:
        unit = comparison.units[index]
        table.add_row(
            comparison.labels[index],
            amount(comparison.truth[index], unit),
            amount(comparison.value[index], unit),
            span(comparison.interval[index], unit),
            "yes" if comparison.inside[index] else "[bold]no[/]",
        )
    return table


def _facts(result: CampaignResult) -> list[tuple[str, str]]:
    plan, estimates, comparison = result.plan, result.estimates, result.comparison
    inside, count = int(comparison.inside.sum()), len(comparison.truth)
    held = "every true answer is inside" if comparison.band_holds else "some true answers are OUTSIDE"
    return [
        ("intervals", f"{inside} of {count} contain the true answer ({percent(comparison.interval_coverage, 1)})"),
        ("band", f"{held} the simultaneous {percent(estimates['level'])} band"),
        (
            "error",
            f"RMSE {amount(comparison.rms_error, comparison.unit)} "
            f"(predicted: at most {amount(estimates['predicted_rmse_max'], comparison.unit)}), "
            f"largest error {amount(comparison.max_abs_error, comparison.unit)}",
        ),
        ("mechanism", f"{plan['mechanism']}, ε = {estimates['epsilon']:g} per device; {variance_against_bound(plan)}"),
        *(("warning", warning) for warning in estimates["warnings"]),
    ]


def variance_against_bound(plan: Mapping[str, Any]) -> str:
    """The variance of a plan and how it compares with the lower bound, which a biased answer may be below."""
    variance = f"variance {plan['max_variance']:.4g}"
    if plan["bias_bound"] > _ROUNDING:
        return f"{variance} and a bias; the lower bound, {plan['lower_bound_max']:.4g}, is for answers without bias"
    if plan["ratio_max"] is None:
        return "no lower bound above 0 at this ε"
    return f"{variance}, {plan['ratio_max']:.3f}× lower bound"


def _details(result: CampaignResult) -> list[tuple[str, str]]:
    promises = "RMSE: the worst answer in any population; lower bound: all unbiased one-round mechanisms"
    return [("promises", promises), ("devices", _devices(result))]


def _devices(result: CampaignResult) -> str:
    apps, fleet = result.apps, result.fleet
    parts = []
    if apps.reports:
        parts.append(
            f"{apps.reports:,} ran the SDK as an app (own ledger file, own proof of ε, one report per request): "
            f"{apps.per_second:,.0f} per second"
        )
    if fleet.reports:
        parts.append(
            f"{fleet.reports:,} shared one proved plan and one connection, with ledgers in memory and batches of up to "
            f"4096 reports: {fleet.per_second:,.0f} per second randomised, sent and committed"
        )
    return "; ".join(parts)
