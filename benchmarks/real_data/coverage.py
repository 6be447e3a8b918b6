"""`python -m benchmarks.real_data.coverage`: how often intervals that the simplex cuts hold, and how long they are.

Campaigns of real reports about 16 bins by subset selection at ε = 1. The length is a share of ± 1.96 standard errors.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.coverage.campaigns import aggregates
from benchmarks.real_data.sets import synthetic
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin

BINS = 16
# Ends of twelve digits and truths of sums.
_ROUNDING = 1e-9


def row(plan: CompiledPlan, shares: Floats, users: int, campaigns: int) -> str:
    """Coverage over all queries and of the worst one, of the band, of ± 1.96 standard errors, and the mean length."""
    estimator, operator = LinearEstimator.of(plan.device, plan.analyst), plan.request.workload.operator
    held, plain, at_once, lengths = [], [], [], []
    for counts, aggregate in aggregates(plan.device.randomizer, shares, users, campaigns, seed=11):
        found, truth = estimator.estimate(aggregate), operator.matvec(counts / users)
        reach = normal_quantile(found.level) * found.standard_error
        held.append((found.lower <= truth + _ROUNDING) & (truth <= found.upper + _ROUNDING))
        plain.append(np.abs(found.unbiased - truth) <= reach)
        at_once.append(((found.band_lower <= truth + _ROUNDING) & (truth <= found.band_upper + _ROUNDING)).all())
        lengths.append((found.upper - found.lower) / (2 * reach))
    of_query, of_plain = np.mean(held, axis=0), np.mean(plain, axis=0)
    cut, even = (f"{each.mean():.3f} (worst {each.min():.2f})" for each in (of_query, of_plain))
    return f"{even} | {cut} | {np.mean(at_once):.2f} | {np.mean(lengths):.2f}"


def main() -> None:
    """Print a row for prefix sums and one for ranges of each kind of users."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=100)
    parser.add_argument("--users", type=int, default=20_000)
    asked = parser.parse_args()
    if asked.campaigns < 1 or asked.users < 1:
        parser.error("give at least a campaign and a user")
    print(f"{asked.campaigns} campaigns of {asked.users:,} users\n")
    print("| users | ± 1.96 standard errors | interval | band | length |\n|---|---|---|---|---|")
    for kind in ("prefix", "ranges"):
        options = PlanningOptions.of(epsilon=1.0, mechanism="subset_selection")
        plan = compile_plan(PlanRequest(builtin(kind, BINS), options))
        for name, shares in synthetic(BINS).items():
            print(f"| {name}, {kind} | {row(plan, shares, asked.users, asked.campaigns)} |", flush=True)


if __name__ == "__main__":
    main()
