"""What `sordino demo --series` prints: each day and week of the series beside the truth."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from sordino_analysis.percentages import percent
from sordino_server.cli.output import console, print_json, print_table, progress_console
from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation.presented_run import PresentedRun
from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.simulation.run import simulation_server
from sordino_server.cli.simulation.series_run import DAY_S, LABELS, SLOTS, SeriesResult, SeriesTerms, run_series
from sordino_server.cli.simulation.working_folder import working_folder
from sordino_shared.quantities import quantity

_APPS = 40
# Of each app a ledger, a connection and two answers: a small demo has fewer.
_USERS_AN_APP = 20


def present_series(run: PresentedRun, days: int, users: int, epsilon: float, seed: int) -> None:
    """Run a series of so many days and print it."""
    apps = min(_APPS, max(1, users // _USERS_AN_APP))
    terms = SeriesTerms(days=days, users=users, apps=apps, epsilon=epsilon, seed=seed)
    stages = Stages(progress_console)
    with (
        working_folder(run.keep) as folder,
        stages.shown(),
        simulation_server(folder, run.remote, stages) as server,
        Remote(server.address, server.key) as remote,
    ):
        ledgers = folder / "ledgers"
        ledgers.mkdir()
        result = run_series(remote, server.address, terms, ledgers, stages)
    document = series_result(result, terms) | {"seconds": time.perf_counter() - run.started}
    document |= {"kept": str(folder) if run.keep else None}
    if run.as_json:
        print_json(document)
    else:
        _print(document, result)


def series_result(result: SeriesResult, terms: SeriesTerms) -> dict[str, Any]:
    """The series, its days beside the truth, its weeks, changes and trend."""
    days = [
        {
            "day": each["period"],
            "state": each["state"],
            "reports": each["reports"],
            "truth": list(true),
            "value": each["answers"] and each["answers"]["value"],
            "standard_error": each["answers"] and each["answers"]["standard_error"],
            "inside": None if each["answers"] is None else _inside(each["answers"], true),
        }
        for each, true in zip(result.document["periods"], result.truth, strict=True)
    ]
    judged = [inside for day in days for inside in day["inside"] or ()]
    return {
        "series": result.series,
        "users": terms.users,
        "epsilon": terms.epsilon,
        "slots": SLOTS,
        "day_s": DAY_S,
        "labels": list(LABELS),
        "app_reports": result.app_reports,
        "fleet_reports": result.fleet_reports,
        "days": days,
        "interval_coverage": sum(judged) / len(judged) if judged else None,
        "windows": result.document["windows"],
        "changes": result.document["changes"],
        "trend": result.document["trend"],
    }


def _inside(answers: Mapping[str, Any], truth: Sequence[float]) -> list[bool] | None:
    """Whether each interval holds the truth; None where there are too few reports for one."""
    if answers["interval"] is None:
        return None
    return [low <= true <= high for (low, high), true in zip(answers["interval"], truth, strict=True)]


def _print(document: dict[str, Any], result: SeriesResult) -> None:
    table = Table("day", "reports", *(f"{label}: answer (truth)" for label in LABELS))
    for day in document["days"]:
        cells = ["" for _ in LABELS]
        if day["value"] is not None:
            figures = zip(day["value"], day["standard_error"], day["truth"], strict=True)
            cells = [f"{value:.3f} ± {error:.3f} ({true:.3f})" for value, error, true in figures]
        table.add_row(str(day["day"]), f"{day['reports']:,}", *cells)
    print_table(table)
    for change in document["changes"]:
        marks = [label for label, mark in zip(LABELS, change["marked"], strict=True) if mark]
        span = "days {}-{} to {}-{}".format(*change["earlier"], *change["later"])
        console.print(f"{span}: {', '.join(marks) or 'nothing'} changed", highlight=False)
    coverage = document["interval_coverage"]
    held = "" if coverage is None else f"; {percent(coverage, 0)} of the intervals hold the truth"
    sent = f"{quantity(result.app_reports, 'report')} of apps, {result.fleet_reports:,} of the fleet"
    console.print(f"{sent}{held}; {document['seconds']:.1f} s", highlight=False)
