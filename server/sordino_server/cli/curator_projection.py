"""`sordino plan --trust curator --mechanism jl`: JL-Release in words, beside the best release."""

from __future__ import annotations

from collections.abc import Sequence

from sordino_analysis.documents.projected_summary import ProjectedSummary, SimulatedErrors
from sordino_analysis.figures import figure
from sordino_server.cli.curator_promise import promise_text
from sordino_shared.quantities import quantity


def projection_lines(summary: ProjectedSummary) -> Sequence[str]:
    """The plan for people, a line each."""
    lines = [
        f"mechanism: {summary.mechanism}, {summary.sums} random sums of the queries, then the nearest histogram",
        f"  {summary.workload}, {promise_text(summary)}, one row may be replaced by any other",
        f"  errors of shares of {quantity(summary.users, 'user')}, simulated, spread evenly and as 1/rank^1.2:",
        f"  {summary.mechanism}: {_errors(summary.errors)}",
    ]
    if summary.best_errors is not None:
        lines.append(f"  projected answers of {summary.best_mechanism}: {_errors(summary.best_errors)}")
    return [
        *lines,
        f"  knowing nothing: {_errors(summary.knowing_nothing)}",
        "  its answers are biased: they have no intervals, and no certificate",
    ]


def _errors(errors: SimulatedErrors) -> str:
    return f"{figure(errors.uniform)} and {figure(errors.zipf)}"
