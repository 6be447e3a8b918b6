"""The analyst's mathematics of sordino: plan a mechanism for a workload, and estimate from what devices report.

    import sordino_analysis as sa

    plan = sa.plan(sa.prefix([0, 15, 60, 180], name="delay", unit="min"), epsilon=1)
    print(plan, plan.users_needed(error=.01))
    print(sa.simulate(plan, values, seed=1))

The names of `__all__` are the public interface; they load on first use, so that the import itself takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sordino_analysis.analyst.comparisons import EstimateComparison, compare
    from sordino_analysis.analyst.contrasts import Contrast
    from sordino_analysis.analyst.estimates import Estimate, aggregate, estimate, marginal
    from sordino_analysis.analyst.experiments import Experiment, experiment
    from sordino_analysis.analyst.items import Items, items
    from sordino_analysis.analyst.pairs import (
        PairwisePlan,
        PairwiseSimulation,
        plan_pairwise,
        read_pairwise_plan,
        simulate_pairwise,
    )
    from sordino_analysis.analyst.pictures import Picture, chart
    from sordino_analysis.analyst.plans import Plan, plan, read_plan
    from sordino_analysis.analyst.quantile_shifts import quantile_shift
    from sordino_analysis.analyst.results import read_estimates
    from sordino_analysis.analyst.rules import RankedRules, best_rules, rule_on_average
    from sordino_analysis.analyst.series import rotation, series
    from sordino_analysis.analyst.simulation import Simulation, read_csv, simulate
    from sordino_analysis.analyst.string_estimates import AskedStrings, StringEstimate
    from sordino_analysis.analyst.string_plans import StringPlan, common_strings, read_string_plan
    from sordino_analysis.analyst.string_simulation import StringSimulation
    from sordino_analysis.analyst.tables import ColumnError
    from sordino_analysis.analyst.workloads import histogram, pairwise_statistic, prefix, ranges, workload
    from sordino_analysis.average_case.answers import AverageCaseAnswer
    from sordino_analysis.estimation.linear import EstimationError
    from sordino_analysis.evaluation.accumulate import Aggregate
    from sordino_analysis.panel.rotation import Rotation
    from sordino_analysis.panel.series import SeriesEstimates
    from sordino_analysis.planning_options import PlanError
    from sordino_analysis.progress import Progress
    from sordino_analysis.questions.linear import Workload, WorkloadError
    from sordino_analysis.text_codes.making import text_code
    from sordino_analysis.text_codes.string_code import StringCode
    from sordino_shared.errors import SordinoError

__version__ = "0.1.0"

_MODULES = {
    "sordino_analysis.analyst.comparisons": ("EstimateComparison", "compare"),
    "sordino_analysis.analyst.contrasts": ("Contrast",),
    "sordino_analysis.analyst.estimates": ("Estimate", "aggregate", "estimate", "marginal"),
    "sordino_analysis.analyst.experiments": ("Experiment", "experiment"),
    "sordino_analysis.analyst.items": ("Items", "items"),
    "sordino_analysis.analyst.pairs": (
        "PairwisePlan",
        "PairwiseSimulation",
        "plan_pairwise",
        "read_pairwise_plan",
        "simulate_pairwise",
    ),
    "sordino_analysis.average_case.answers": ("AverageCaseAnswer",),
    "sordino_analysis.analyst.pictures": ("Picture", "chart"),
    "sordino_analysis.analyst.plans": ("Plan", "plan", "read_plan"),
    "sordino_analysis.analyst.quantile_shifts": ("quantile_shift",),
    "sordino_analysis.analyst.results": ("read_estimates",),
    "sordino_analysis.analyst.rules": ("RankedRules", "best_rules", "rule_on_average"),
    "sordino_analysis.analyst.series": ("rotation", "series"),
    "sordino_analysis.analyst.simulation": ("Simulation", "read_csv", "simulate"),
    "sordino_analysis.analyst.string_estimates": ("AskedStrings", "StringEstimate"),
    "sordino_analysis.analyst.string_plans": ("StringPlan", "common_strings", "read_string_plan"),
    "sordino_analysis.analyst.string_simulation": ("StringSimulation",),
    "sordino_analysis.analyst.tables": ("ColumnError",),
    "sordino_analysis.analyst.workloads": ("histogram", "pairwise_statistic", "prefix", "ranges", "workload"),
    "sordino_analysis.estimation.linear": ("EstimationError",),
    "sordino_analysis.evaluation.accumulate": ("Aggregate",),
    "sordino_analysis.planning_options": ("PlanError",),
    "sordino_analysis.progress": ("Progress",),
    "sordino_analysis.questions.linear": ("Workload", "WorkloadError"),
    "sordino_analysis.text_codes.making": ("text_code",),
    "sordino_analysis.text_codes.string_code": ("StringCode",),
    "sordino_analysis.panel.rotation": ("Rotation",),
    "sordino_analysis.panel.series": ("SeriesEstimates",),
    "sordino_shared.errors": ("SordinoError",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Aggregate",
    "AskedStrings",
    "AverageCaseAnswer",
    "ColumnError",
    "Contrast",
    "Estimate",
    "EstimateComparison",
    "EstimationError",
    "Experiment",
    "Items",
    "PairwisePlan",
    "PairwiseSimulation",
    "Picture",
    "Plan",
    "PlanError",
    "Progress",
    "RankedRules",
    "Rotation",
    "SeriesEstimates",
    "Simulation",
    "SordinoError",
    "StringCode",
    "StringEstimate",
    "StringPlan",
    "StringSimulation",
    "Workload",
    "WorkloadError",
    "aggregate",
    "best_rules",
    "chart",
    "common_strings",
    "compare",
    "estimate",
    "experiment",
    "histogram",
    "items",
    "marginal",
    "pairwise_statistic",
    "plan",
    "plan_pairwise",
    "prefix",
    "quantile_shift",
    "ranges",
    "read_csv",
    "read_estimates",
    "read_pairwise_plan",
    "read_plan",
    "read_string_plan",
    "rotation",
    "rule_on_average",
    "series",
    "simulate",
    "simulate_pairwise",
    "text_code",
    "workload",
]


if not TYPE_CHECKING:  # a type checker would take every name for Any

    def __getattr__(name: str) -> Any:
        """A public name, from its module (PEP 562)."""
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_PLACES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
