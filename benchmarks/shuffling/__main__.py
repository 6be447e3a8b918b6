"""ε of shuffled reports: the published table with times, and plans beside the formula for any randomizer."""

from __future__ import annotations

import argparse
import json
import time
from fractions import Fraction
from typing import Any

import sordino_analysis as sa
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.guarantees.approximate import DELTA
from sordino_analysis.guarantees.clones import Clones
from sordino_analysis.guarantees.shuffled import shuffled_of
from sordino_shared.guarantees import NANO, PureEpsilon, exp_lower_bound

USERS = (10**3, 10**4, 10**6)
PLANS = {"histogram 50": sa.histogram(50), "prefix 64": sa.prefix(64), "ranges 32": sa.ranges(32)}


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


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shuffling", description=__doc__)
    parser.add_argument("--json", action="store_true", help="JSON instead of tables")
    chosen = parser.parse_args()
    found = {"table": table(), "plans": plans()}
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
