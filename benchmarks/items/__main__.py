"""Histograms of very many items: variance over its bound, sizes on the wire, seconds and memory to answer."""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import sordino_analysis as sa
from sordino_analysis.estimation.items import MOST_PUBLISHED_ITEMS, ItemEstimator
from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness

_BATCH = 100_000
_NAMED = 20
DOMAINS: dict[str, dict[str, Any]] = {
    "integers below 2^20": {"name": "item", "kind": "integers", "low": 0, "high": (1 << 20) - 1},
    "integers below 2^24": {"name": "item", "kind": "integers", "low": 0, "high": (1 << 24) - 1},
    "hashed, 64 bits": {"name": "item", "kind": "hashed", "bits": 64},
}


def measured(name: str, epsilon: float, objective: Any, users: int) -> dict[str, Any]:
    """One row: a plan, reports of `users` devices with values of a Zipf law, and their answers."""
    attribute = DOMAINS[name]
    asked = sa.workload({"name": name, "domain": [attribute], "queries": "histogram"})
    began = time.process_time()
    plan = sa.plan(asked, epsilon=epsilon, objective=objective)
    planned = time.process_time() - began
    ranks = np.random.default_rng(1).zipf(1.3, users) % (1 << 20)
    values: list[object] = [f"text {rank}" if attribute["kind"] == "hashed" else rank for rank in ranks.tolist()]
    reports = _reports(plan, values)
    row = {
        "domain": name,
        "epsilon": epsilon,
        "objective": objective,
        "variance": plan.variance,
        "ratio": plan.ratio,
        "plan_s": planned,
        "report_bytes": plan.device.randomizer.payload_bytes,
        "device_bytes": len(plan.device.content),
    }
    began = time.process_time()
    sa.items(plan, reports, values[:1])
    row["one_item_s"] = time.process_time() - began
    began = time.process_time()
    sa.items(plan, reports, values[:_NAMED])
    row["twenty_items_s"] = time.process_time() - began
    row["all_items_s"] = None if attribute["kind"] == "hashed" else _all_items(plan, reports)
    return row | {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _reports(plan: sa.Plan, values: list[object]) -> Any:
    batches = range(0, len(values), _BATCH)
    return np.concatenate(
        [
            randomize_part(
                plan.device, codes_many(plan.domain, values[start : start + _BATCH]), SeededRandomness(start)
            )
            for start in batches
        ]
    )


def _all_items(plan: sa.Plan, reports: Any) -> float:
    began = time.process_time()
    ItemEstimator(plan.device, plan.analyst).largest(sa.aggregate(plan, reports), MOST_PUBLISHED_ITEMS)
    return time.process_time() - began


def rows(users: int, epsilons: list[float]) -> Iterator[dict[str, Any]]:
    """A row for each domain, ε and objective."""
    for name in DOMAINS:
        for epsilon in epsilons:
            for objective in ("mean", "max"):
                yield measured(name, epsilon, objective, users)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.items", description=__doc__)
    parser.add_argument("--users", type=int, default=1_000_000, help="reports that are answered")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 4.0])
    parser.add_argument("--json", action="store_true", help="one JSON array instead of a table")
    chosen = parser.parse_args()
    found = list(rows(chosen.users, chosen.epsilon))
    if chosen.json:
        print(json.dumps(found, indent=2))
        return
    print("| " + " | ".join(found[0]) + " |\n|" + "---|" * len(found[0]))
    for row in found:
        print("| " + " | ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()) + " |")


if __name__ == "__main__":
    main()
