"""Results of `demo` and `simulate` for a pairwise statistic: text for people, one JSON object for programs."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from sordino_analysis.documents.plan_summary import PairwiseSummary
from sordino_server.cli.simulation.statistic_campaign import StatisticResult
from sordino_server.cli.statistics import print_protocols, print_statistic
from sordino_shared.quantities import quantity


def statistic_document(result: StatisticResult, raw_truth: float | None) -> dict[str, Any]:
    """The results of a campaign under the names that `--json` documents; `raw_truth` is the truth without bins."""
    estimates, plan = result.estimates, result.plan
    return {
        "campaign": result.campaign,
        "statistic": estimates["statistic"],
        "epsilon": estimates["epsilon"],
        "protocol": estimates["protocol"],
        "protocols": plan["protocols"],
        "value": estimates["value"],
        "standard_error": estimates["standard_error"],
        "interval": estimates["interval"],
        "truth": result.truth,
        "raw_truth": raw_truth,
        "error": result.error,
        "inside": result.inside,
        "predicted_rmse": estimates["predicted_rmse"],
        "rounds": estimates["rounds"],
        "apps": result.app_reports,
        "fleet": result.fleet_reports,
        "stage_seconds": dict(result.seconds),
        "warnings": list(estimates["warnings"]),
    }


def print_statistic_result(console: Console, result: StatisticResult, raw_truth: float | None, verbose: bool) -> None:
    """The estimate with the truth; with `verbose` also the comparison of protocols."""
    if verbose:
        print_protocols(console, PairwiseSummary.model_validate(result.plan), verbose)
        console.print()
    print_statistic(console, result.estimates)
    verdict = "inside the interval" if result.inside else "OUTSIDE the interval"
    error = "no value" if result.error is None else f"error {result.error:.5f}"
    console.print(f"truth in the same bins: {result.truth:.5f}, {verdict}; {error}", highlight=False)
    if raw_truth is not None:
        gap = result.truth - raw_truth
        console.print(f"truth without bins: {raw_truth:.5f}; binning moves it by {gap:+.5f}", highlight=False)
    if verbose:
        devices = (
            f"{quantity(result.app_reports, 'report')} from apps with a ledger file each, "
            f"{result.fleet_reports:,} in batches"
        )
        console.print(devices, highlight=False)
