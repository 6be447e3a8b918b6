"""`python -m benchmarks.strings.device`: what planning takes, and what a device holds and does, in plain Python."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.strings.request import StringsRequest
from sordino_analysis.strings.specification import parse_strings
from sordino_shared.randomizers import Coarsened
from sordino_shared.randomness import SystemRandomness

# Code, bits of code, text of a device.
CELLS = (
    ("words", 34, "interval"),
    ("apps", 72, "libreoffice-writer"),
    ("urls", 90, "https://docs.python.org/3/library/hashlib.html"),
)
_TIMES = 2000


def measured(code: str, depth: int, text: str) -> dict[str, Any]:
    """A plan at ε = 4 and a device of it."""
    attribute = {"name": "text", "kind": "text", "code": code, "depth": depth}
    asked = parse_strings({"name": "texts", "domain": [attribute], "queries": "strings"})
    before = time.process_time()
    plan = StringsRequest.of(asked, PlanningOptions.of(epsilon=4)).compile()
    seconds = time.process_time() - before
    device = plan.device
    randomizer, domain, randomness = device.randomizer, device.domain, SystemRandomness()
    assert isinstance(randomizer, Coarsened)
    codes = domain.codes(text)
    return {
        "code": code,
        "bits": depth,
        "plan_cpu_s": round(seconds, 3),
        "device_bytes": len(device.content),
        "report_bytes": randomizer.payload_bytes,
        "code_and_hashes_us": _microseconds(lambda: domain.codes(text)),
        "randomize_us": _microseconds(lambda: randomizer.randomize_codes(codes, domain.shape, randomness)),
    }


def _microseconds(act: Callable[[], object]) -> float:
    """Processor time of one call, the least of five runs."""
    runs = []
    for _ in range(5):
        before = time.process_time()
        for _ in range(_TIMES):
            act()
        runs.append((time.process_time() - before) / _TIMES)
    return round(1e6 * min(runs), 1)


def main() -> None:
    """Print a line of JSON for each code."""
    for cell in CELLS:
        print(json.dumps(measured(*cell)), flush=True)


if __name__ == "__main__":
    main()
