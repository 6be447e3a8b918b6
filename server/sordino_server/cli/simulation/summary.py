"""Results of `demo` and `simulate`: text for people, one JSON object for programs, a chart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sordino_analysis.answers.shown import shown_answers
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.charts import AnswerChart
from sordino_analysis.figures import amount, chosen, figure
from sordino_analysis.kinds.comparison import TruthComparison
from sordino_analysis.percentages import percent
from sordino_server.cli.estimate_text import print_lines, table_of
from sordino_server.cli.output import print_table
from sordino_server.cli.simulation.campaign import CampaignResult

_ROWS = 6


def result_document(result: CampaignResult) -> dict[str, Any]:
    """The results of a campaign under the names that `--json` documents: those of its estimate, and of the truth."""
    estimate = result.estimate
    return {
        "campaign": result.campaign,
        "kind": estimate.kind,
        **estimate.terms,
        **estimate.extras.model_dump(mode="json"),
        "queries": len(result.comparison.truth),
        **result.comparison.document(),
        "clipped": [asdict(each) for each in result.clipped],
        **result.judgement.fields,
        "plan": json.loads(result.plan.text()),
        "apps": result.apps.reports,
        "app_reports_per_second": result.apps.per_second,
        "fleet": result.fleet.reports,
        "reports_per_second": result.fleet.per_second or result.apps.per_second,
        "stage_seconds": dict(result.seconds),
    }


def print_result(console: Console, result: CampaignResult, places: Mapping[str, str], verbose: bool) -> None:
    """What is stated, some answers, the errors over all of them, and the files written; all answers with `verbose`."""
    print_lines(result.kind.statements(result.estimate))
    shown, count = _shown(result, verbose), len(result.comparison.truth)
    print_table(_answers(result, shown))
    if len(shown) < count:
        console.print(f"{len(shown)} of {count} answers shown; --verbose shows all and the report rates.")
    print_lines(result.judgement.lines)
    facts = Table.grid(padding=(0, 2))
    for name, value in (*_facts(result), *(_details(result) if verbose else ()), *places.items()):
        facts.add_row(Text(name, style="bold"), Text(value, overflow="fold"))
    console.print()
    console.print(facts)


def answer_chart(
    comparison: TruthComparison, title: str, subtitle: str, axis: str, ticks: Sequence[tuple[float, str]], steps: bool
) -> AnswerChart:
    """The chart of all answers in the workload's order, with the band that holds all of them."""
    ends = comparison.interval if comparison.band is None else comparison.band
    assert ends is not None, "every kind states an interval or a band"
    return AnswerChart(
        title=title,
        subtitle=subtitle,
        axis=axis,
        truth=comparison.truth.tolist(),
        estimate=comparison.value.tolist(),
        lower=ends[:, 0].tolist(),
        upper=ends[:, 1].tolist(),
        ticks=ticks,
        steps=steps,
        unit=comparison.unit,
    )


def _shown(result: CampaignResult, verbose: bool) -> list[int]:
    """Rows in the order of the kind; of an order that means something the first ones, else some evenly spread."""
    rows = result.kind.shown(result.estimate)
    if verbose:
        return list(rows)
    if result.kind.printed is not None:
        return list(islice(rows, result.kind.printed))
    return result.comparison.spread(_ROWS)


def _answers(result: CampaignResult, shown: Sequence[int]) -> Table:
    """Some answers with the truth beside them."""
    compared = result.comparison
    known: dict[str, Sequence[Any]] = {"truth": compared.truth.tolist(), "inside": compared.inside.tolist()}
    table = AnswerTable(result.estimate.terms, {**result.estimate.columns, **known})
    parts = ("truth", "best guess", "answer", "interval" if compared.interval is not None else "band", "inside")
    return table_of(shown_answers(table, result.kind.row, rows=shown, parts=parts))


def _facts(result: CampaignResult) -> list[tuple[str, str]]:
    comparison, level = result.comparison, percent(result.estimate.table.level)
    facts = []
    if comparison.interval_coverage is not None:
        inside, count = int(comparison.inside.sum()), len(comparison.truth)
        held = f"{inside} of {count} contain the true answer ({percent(comparison.interval_coverage, 1)})"
        facts.append(("intervals", held))
    if comparison.band_holds is not None:
        held = "every true answer is inside" if comparison.band_holds else "some true answers are OUTSIDE"
        facts.append(("band", f"{held} the simultaneous {level} band"))
    if comparison.rms_error is not None and comparison.max_abs_error is not None:
        facts.append(("error", _error(result, comparison.rms_error, comparison.max_abs_error)))
    if comparison.best_rms_error is not None:
        facts.append(("guesses", f"RMSE {amount(comparison.best_rms_error, comparison.unit)} of the best guesses"))
    terms = result.estimate.terms
    facts.append(
        ("mechanism", f"{terms['mechanism']}, ε = {chosen(result.estimate.epsilon)} per device; {result.plan.quality}")
    )
    facts += [("clipped", str(each)) for each in result.clipped if each.below or each.above]
    warnings = (*result.estimate.extras.warnings, *(said for each in result.clipped for said in each.warnings))
    return [*facts, *(("warning", warning) for warning in warnings)]


def _error(result: CampaignResult, rms: float, largest: float) -> str:
    unit, predicted = result.comparison.unit, result.kind.predicted_error(result.estimate)
    promised = "" if predicted is None else f" (predicted: at most {amount(predicted, unit)})"
    return f"RMSE {amount(rms, unit)}{promised}, largest error {amount(largest, unit)}"


def _details(result: CampaignResult) -> list[tuple[str, str]]:
    promises = "RMSE: the worst answer in any population; lower bound: all unbiased one-round mechanisms"
    return [("promises", promises), ("devices", _devices(result))]


def _devices(result: CampaignResult) -> str:
    apps, fleet = result.apps, result.fleet
    parts = []
    if apps.reports:
        parts.append(
            f"{apps.reports:,} ran the SDK as an app (own ledger file, own proof of ε, one report per request): "
            f"{figure(apps.per_second, 1)} per second"
        )
    if fleet.reports:
        parts.append(
            f"{fleet.reports:,} shared one proved plan and one connection, with ledgers in memory and batches of up to "
            f"4096 reports: {figure(fleet.per_second, 1)} per second randomised, sent and committed"
        )
    return "; ".join(parts)
