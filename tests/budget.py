"""What `make test` may cost: `tests/budget.toml` has the processor seconds of each folder of tests.

`make test` writes what it took to `build/processor_seconds.json`; `python -m tests.budget` prints both beside each
other and ends with 1 where the whole took more than 1.3 times its budget. Processor time, since a busy machine makes
the clock no measure; with tolerance, since cores differ.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUDGET = ROOT / "tests" / "budget.toml"
MEASURED = ROOT / "build" / "processor_seconds.json"
SHARED = "shared by all"
TOLERANCE = 1.3


def budget() -> tuple[float, dict[str, float]]:
    """Seconds of the whole suite, and of each folder and what all share."""
    read = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    return float(read["total"]), {name: float(seconds) for name, seconds in read["folders"].items()}


def table(measured: Mapping[str, float], allowed: Mapping[str, float]) -> list[str]:
    """A line for each folder, first those that are furthest over what they may take."""
    names = sorted({*measured, *allowed}, key=lambda name: allowed.get(name, 0.0) - measured.get(name, 0.0))
    return [f"{measured.get(name, 0.0):8.1f} of {allowed.get(name, 0.0):6.1f}  {name}" for name in names]


def is_within(measured: Mapping[str, float], total: float) -> bool:
    """Whether the whole run took no more than the tolerance allows."""
    return sum(measured.values()) <= TOLERANCE * total


def main() -> int:
    if not MEASURED.exists():
        print(f"{MEASURED.relative_to(ROOT)} is missing: run `make test` first", file=sys.stderr)
        return 2
    total, allowed = budget()
    measured: dict[str, float] = json.loads(MEASURED.read_text(encoding="utf-8"))["folders"]
    print("processor seconds of `make test`", *table(measured, allowed), sep="\n")
    print(f"{sum(measured.values()):8.1f} of {total:6.1f}  in all; {TOLERANCE * total:.0f} is too many")
    if is_within(measured, total):
        return 0
    print("too many: make the dearest tests cheaper, or mark them slow and keep one size of each", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
