"""`sordino plan --trust curator --mechanism jl`: what JL-Release would come to, beside the best release."""

from __future__ import annotations

from sordino_analysis.curator.plan import CuratorPlan
from sordino_analysis.curator.projected_errors import projected_errors
from sordino_analysis.documents.projected_summary import ProjectedSummary, SimulatedErrors
from sordino_analysis.figures import figure
from sordino_server.cli.output import console, print_json
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity


def print_projection(name: str, best: CuratorPlan, *, as_json: bool) -> None:
    """Simulate and print; raises InvalidValue without a number of users."""
    if best.users is None:
        raise InvalidValue(f"errors of {name} are simulated for a number of people: give --users")
    summary = projected_errors(name, best, best.users)
    if as_json:
        print_json(summary.model_dump(mode="json"))
        return
    for line in _lines(summary):
        console.print(line, highlight=False)


def _lines(summary: ProjectedSummary) -> list[str]:
    return [
        f"mechanism: {summary.mechanism}, {summary.dimension} random sums of the queries, then the nearest histogram",
        f"  errors of shares of {quantity(summary.users, 'user')}, simulated, spread evenly and as 1/rank^1.2:",
        f"  {summary.mechanism}: {_errors(summary.errors)}",
        f"  consistent answers of {summary.best_mechanism}: {_errors(summary.best_errors)}",
        f"  knowing nothing: {_errors(summary.knowing_nothing)}",
        "  it is biased and has no certificate: no release is made with it",
    ]


def _errors(errors: SimulatedErrors) -> str:
    return f"{figure(errors.uniform)} and {figure(errors.zipf)}"
