"""`python -m benchmarks.strings.equal_trust`: devices that must hold a string where a second party is trusted.

Ours: strings behind a shuffler that adds random reports, at the ε of a device that finds the rarest. Beside it the core
of sample and threshold, which Nebula and TrieHH have: a second party samples devices, and releases the count of each
string of which it has enough. Its (ε, δ) is computed exactly, neighbours by adding a device.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import binom

from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.strings.request import StringsRequest
from sordino_analysis.strings.specification import parse_strings

TARGETS = (("1", "1e-8"), ("0.5", "1e-6"), ("0.1", "1e-6"))
USERS = (10_000, 100_000, 1_000_000)
_LOCAL = tuple(half / 2 for half in range(4, 19))
_POWER = 0.9
_SAMPLED = (1 / 20, 1 / 10, 1 / 5, 1 / 3)
_MOST_HOLDERS, _MOST_THRESHOLD = 4000, 256
QUESTION = {
    "name": "words",
    "domain": [{"name": "word", "kind": "text", "code": "bytes", "depth": 48}],
    "queries": "strings",
}


def ours(epsilon: str, delta: str) -> Iterator[dict[str, Any]]:
    """For numbers of users the devices that must hold a string to be listed with 90 %, and ε of a device."""
    asked, plans = parse_strings(QUESTION), []
    for local in _LOCAL:
        options = PlanningOptions.of(epsilon=local, collector={"epsilon": epsilon, "delta": delta})
        try:
            summary = StringsRequest.of(asked, options).compile().summary.strings
        except PlanError:
            continue
        assert summary is not None
        assert summary.blanket is not None
        plans.append((local, summary, summary.blanket.reports))
    for users in USERS:
        holders, local, random = min((each.share_found(users) * users, local, m) for local, each, m in plans)
        yield {"users": users, "holders": math.ceil(holders), "device_epsilon": local, "random_reports": random}


def threshold_delta(sampled: float, threshold: int, epsilon: float) -> float:
    """δ of counts of at least `threshold` sampled devices: max over holders c of both directions of c and c + 1."""
    worst, power = 0.0, math.exp(epsilon)
    # Far above the threshold counts of neighbours differ less and less.
    for holders in range(threshold - 1, round(threshold / sampled) + 3 * threshold):
        counts = np.arange(threshold, holders + 2)
        here, there = (
            np.append(binom.pmf(counts, c, sampled), binom.cdf(threshold - 1, c, sampled))
            for c in (holders, holders + 1)
        )
        ahead, behind = (np.maximum(a - power * b, 0).sum() for a, b in ((here, there), (there, here)))
        worst = max(worst, float(ahead), float(behind))
    return worst


def sample_and_threshold(epsilon: str, delta: str) -> dict[str, Any]:
    """The least number of holders that are found with 90 %, over sampling rates."""
    found = []
    for sampled in _SAMPLED:
        low, high = 1, _MOST_THRESHOLD
        while low < high:
            middle = (low + high) // 2
            fits = threshold_delta(sampled, middle, float(epsilon)) <= float(delta)
            low, high = (low, middle) if fits else (middle + 1, high)
        several = np.arange(low, _MOST_HOLDERS)
        passed = several[binom.sf(low - 1, several, sampled) >= _POWER]
        if low < _MOST_THRESHOLD and len(passed):
            found.append((int(passed[0]), sampled, low))
    if not found:
        return {}
    holders, sampled, threshold = min(found)
    return {"holders": holders, "sampled": round(sampled, 3), "threshold": threshold}


def rows() -> Iterator[dict[str, Any]]:
    """A row for each target."""
    for epsilon, delta in TARGETS:
        yield {
            "epsilon": epsilon,
            "delta": delta,
            "ours": [*ours(epsilon, delta)],
            "sample_and_threshold": sample_and_threshold(epsilon, delta),
        }


def main() -> None:
    """Print a line of JSON for each target."""
    for row in rows():
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
