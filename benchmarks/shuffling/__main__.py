"""ε of shuffled reports: the published table with times, and plans beside the formula for any randomizer."""

from __future__ import annotations

import argparse
import json
import time
from fractions import Fraction
from typing import Any

import sordino_analysis as sa
from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.guarantees.approximate import DELTA
from sordino_analysis.guarantees.clones import Clones
from sordino_analysis.guarantees.shuffled import shuffled_of
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.price_of_locality import price_of_locality
from sordino_analysis.request_terms import Objective
from sordino_shared.guarantees import NANO, PureEpsilon, exp_lower_bound

USERS = (10**3, 10**4, 10**6)
PLANS = {"histogram 50": sa.histogram(50), "prefix 64": sa.prefix(64), "ranges 32": sa.ranges(32)}
PRICED: dict[str, tuple[sa.Workload, Objective]] = {
    "histogram 50": (sa.histogram(50), "max"),
    "prefix 64": (sa.prefix(64), "max"),
    "prefix 128": (sa.prefix(128), "mean"),
    "ranges 32": (sa.ranges(32), "max"),
    "prefix 512": (sa.prefix(512), "mean"),
}


def table() -> list[dict[str, Any]]:
    """ε at δ = 10⁻⁶ of each ε₀ and number of honest reports: any randomizer, and two values with s = 0."""
    rows = []
    for local in (1, 2, 4):
        ratio = Fraction(exp_lower_bound(local * NANO), 1 << 192)
        pair = Clones.of_pair(ratio, (ratio - 1) / (ratio + 1))
        for users in USERS:
            any_epsilon, any_seconds = _timed(local, Clones.of_any(ratio), users)
            pair_epsilon, pair_seconds = _timed(local, pair, users)
            row = {"local": local, "honest": users, "any": any_epsilon, "any_s": any_seconds}
            rows.append(row | {"two": pair_epsilon, "two_s": pair_seconds})
    return rows


def _timed(local: int, clones: Clones, users: int) -> tuple[float, float]:
    began = time.process_time()
    epsilon = shuffled_of(PureEpsilon.of(local), [clones], users, DELTA).epsilon
    return epsilon, time.process_time() - began


def plans() -> list[dict[str, Any]]:
    """ε of shipped plans of ε₀ = 1, by their own integers and by the formula for any randomizer."""
    rows = []
    for name, asked in PLANS.items():
        plan = sa.plan(asked, epsilon=1)
        half = for_randomizer(plan.device.randomizer)
        for users in USERS:
            began = time.process_time()
            own = plan.shuffled(users, fake=0)
            seconds = time.process_time() - began
            general = shuffled_of(plan.device.guarantee, [Clones.of_any(half.likelihood_ratio)], users, DELTA)
            row = {"plan": name, "mechanism": plan.mechanism, "honest": users, "own": own.epsilon}
            rows.append(row | {"any": general.epsilon, "seconds": seconds})
    return rows


def prices() -> list[dict[str, Any]]:
    """Users for an error of .01 at ε = 1 by whom they trust, and the seconds to find the last two numbers."""
    rows = []
    for name, (asked, objective) in PRICED.items():
        options = PlanningOptions.of(epsilon=1, objective=objective, effort="quick")
        summary = LinearRequest(asked, options).compile().summary
        assert isinstance(summary, LinearSummary)
        began = time.process_time()
        price = price_of_locality(asked, summary, 0.01)
        seconds = time.process_time() - began
        row: dict[str, Any] = {"workload": name, "objective": objective}
        row |= {each.trust: each.users for each in price.rows}
        shuffled = price.rows[1]
        row |= {"device epsilon": shuffled.device_epsilon, "mechanism": shuffled.mechanism, "seconds": seconds}
        rows.append(row)
    return rows


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shuffling", description=__doc__)
    parser.add_argument("--json", action="store_true", help="JSON instead of tables")
    parser.add_argument("--prices", action="store_true", help="the price of locality instead of ε")
    chosen = parser.parse_args()
    found = {"prices": prices()} if chosen.prices else {"table": table(), "plans": plans()}
    if chosen.json:
        print(json.dumps(found, indent=2))
        return
    for rows in found.values():
        print(f"| {' | '.join(rows[0])} |\n|{'---|' * len(rows[0])}")
        for row in rows:
            print(
                "| "
                + " | ".join(f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row.values())
                + " |"
            )
        print()


if __name__ == "__main__":
    main()
