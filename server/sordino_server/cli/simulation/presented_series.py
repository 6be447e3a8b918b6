"""What `sordino demo --series` prints: each day and week of the series beside the truth."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rich.table import Table

from sordino_analysis.figures import SHARE, amount, figure, with_error
from sordino_analysis.kinds.series import periods_of
from sordino_analysis.percentages import percent
from sordino_server.cli.output import console, print_json, print_table, progress_console
from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation.campaign import apps_among
from sordino_server.cli.simulation.presented_run import PresentedRun
from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.simulation.run import simulation_server
from sordino_server.cli.simulation.series_run import DAY_S, LABELS, SLOTS, SeriesResult, SeriesTerms, run_series
from sordino_server.cli.simulation.working_folder import working_folder
from sordino_shared.quantities import quantity


def present_series(run: PresentedRun, days: int, users: int, epsilon: float, seed: int) -> None:
    """Run a series of so many days and print it."""
    apps = apps_among(users)
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
    """The series, its days beside the truth, its weeks, changes and trend: rows of the table of answers."""
    rows = list(result.estimate.answers())
    answered = {(row["period"], row["label"]): row for row in rows if row["part"] == "period"}
    days: list[dict[str, Any]] = [
        {
            "day": each.period,
            "state": each.state,
            "reports": each.reports,
            "answers": [
                judged(row, true)
                for label, true in zip(LABELS, shares, strict=True)
                if (row := answered.get((each.period, label))) is not None
            ],
        }
        for each, shares in zip(periods_of(result.estimate), result.truth, strict=True)
    ]
    inside = [row["inside"] for day in days for row in day["answers"] if row["inside"] is not None]
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
        "interval_coverage": sum(inside) / len(inside) if inside else None,
        **{f"{part}s": [row for row in rows if row["part"] == part] for part in ("window", "change", "trend")},
    }


def judged(row: Mapping[str, Any], truth: float) -> dict[str, Any]:
    """An answer with its truth, and whether its interval holds it; None where there are too few reports for one."""
    lower, upper = row.get("lower"), row.get("upper")
    inside = None if lower is None or upper is None else lower <= truth <= upper
    return {**row, "truth": truth, "inside": inside}


def _print(document: dict[str, Any], result: SeriesResult) -> None:
    table = Table("day", "reports", *(f"{label}: answer (truth)" for label in LABELS))
    for day in document["days"]:
        table.add_row(str(day["day"]), f"{day['reports']:,}", *map(_beside_truth, day["answers"]))
    print_table(table)
    changes = document["changes"]
    for span in dict.fromkeys((row["left"], row["right"]) for row in changes):
        marks = [
            row["label"] for row in changes if (row["left"], row["right"]) == span and row["verdict"] != "undecided"
        ]
        console.print(f"{' to '.join(span)}: {', '.join(marks) or 'nothing'} changed", highlight=False)
    coverage = document["interval_coverage"]
    held = "" if coverage is None else f"; {percent(coverage, 0)} of the intervals hold the truth"
    sent = f"{quantity(result.app_reports, 'report')} of apps, {result.fleet_reports:,} of the fleet"
    console.print(f"{sent}{held}; {figure(document['seconds'], 3)} s", highlight=False)


def _beside_truth(row: Mapping[str, Any]) -> str:
    error = row["standard_error"]
    return f"{with_error(row['value'], error, SHARE)} ({amount(row['truth'], SHARE, error)})"
