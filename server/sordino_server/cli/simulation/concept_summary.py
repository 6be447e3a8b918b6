"""Results of `demo` and `simulate` for a concept class: text for people, one JSON object for programs."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from sordino_server.cli.concept_results import print_concepts
from sordino_server.cli.simulation.concept_campaign import ConceptResult

_KEPT = (
    *("rule", "loss", "band", "interval", "certified_by_round", "base", "excess_at_most", "beats_base", "statement"),
    *("concepts", "users", "epsilon", "level", "mechanism", "rounds", "users_by_round"),
)


def concept_summary(result: ConceptResult) -> dict[str, Any]:
    """The results of a campaign under the names that `--json` documents."""
    estimates = result.estimates
    chosen = estimates["rule"]["text"]
    return {
        "campaign": result.campaign,
        **{name: estimates[name] for name in _KEPT},
        "may_be_best": estimates["confidence_set"]["size"],
        "true_loss": result.truth[chosen],
        "best_rule": result.best_rule,
        "least_loss": result.truth[result.best_rule],
        "excess": result.excess,
        "statement_holds": result.statement_holds,
        "interval_holds": result.interval_holds,
        "apps": result.app_reports,
        "fleet": result.fleet_reports,
        "stage_seconds": dict(result.seconds),
        "warnings": list(estimates["warnings"]),
    }


def print_concept_result(console: Console, result: ConceptResult) -> None:
    """The estimate with the truth."""
    print_concepts(result.estimates, console, result.truth)
    verdict = "agrees with the truth" if result.statement_holds else "is WRONG"
    console.print(
        f"the statement {verdict}: the best rule is {result.best_rule}, {result.truth[result.best_rule]:.4f}; "
        f"the chosen one exceeds it by {result.excess:.4f}",
        highlight=False,
        soft_wrap=True,
    )
    if result.interval_holds is not None:
        place = "inside" if result.interval_holds else "outside"
        true_loss = result.truth[result.estimates["rule"]["text"]]
        console.print(f"the chosen rule's true loss, {true_loss:.4f}, is {place} its interval", highlight=False)
