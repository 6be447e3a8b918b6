"""What `make test` may cost: `tests/budget.toml` has the processor seconds of each folder of tests.

`make test` writes what it took to `build/processor_seconds.json`. `python -m tests.budget` prints both beside each
other and ends with 1 where the whole took more than 1.3 times its budget; `python -m tests.budget --record` makes the
last run the budget. Processor time, since a busy machine makes the clock no measure, and in seconds of the machine on
which the budget was measured: each run times the same small loop before it begins, and a machine that takes twice as
long for it may take twice as long for the tests.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
BUDGET = ROOT / "tests" / "budget.toml"
MEASURED = ROOT / "build" / "processor_seconds.json"
SHARED = "shared by all"
TOLERANCE = 1.3
_LOOPS = 7


def loop_seconds() -> float:
    """Processor seconds of a loop of plain Python and of numpy, in equal parts: the least of some, since other
    processes make a loop slower and none makes it faster.
    """
    matrix = np.cos(np.arange(14_400.0)).reshape(120, 120)
    symmetric = matrix @ matrix.T

    def once() -> float:
        begun = time.process_time()
        sum(number * number % 7 for number in range(400_000))
        for _ in range(8):
            np.linalg.eigh(symmetric)
        return time.process_time() - begun

    return min(once() for _ in range(_LOOPS))


def budget() -> tuple[float, dict[str, float]]:
    """Seconds of the whole suite, and of each folder and what all share."""
    read = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    return float(read["total"]), {name: float(seconds) for name, seconds in read["folders"].items()}


def measured() -> dict[str, float]:
    """What the last run took, in seconds of the machine of the budget."""
    run: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
    slower = run["loop"] / tomllib.loads(BUDGET.read_text(encoding="utf-8"))["loop"]
    return {name: seconds / slower for name, seconds in run["folders"].items()}


def table(measured: Mapping[str, float], allowed: Mapping[str, float]) -> list[str]:
    """A line for each folder, first those that are furthest over what they may take."""
    names = sorted({*measured, *allowed}, key=lambda name: allowed.get(name, 0.0) - measured.get(name, 0.0))
    return [f"{measured.get(name, 0.0):8.1f} of {allowed.get(name, 0.0):6.1f}  {name}" for name in names]


def is_within(measured: Mapping[str, float], total: float) -> bool:
    """Whether the whole run took no more than the tolerance allows."""
    return sum(measured.values()) <= TOLERANCE * total


def record() -> None:
    """Write the last run's whole seconds into the budget, in place of what stands there; the comments stay."""
    run: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
    folders = {name: max(1, round(seconds)) for name, seconds in sorted(run["folders"].items())}
    head = BUDGET.read_text(encoding="utf-8").partition("\nloop = ")[0]
    lines = [f"loop = {run['loop']:.3f}", f"total = {sum(folders.values())}", "", "[folders]"]
    lines += [f'"{name}" = {seconds}' for name, seconds in folders.items()]
    BUDGET.write_text("\n".join([head, *lines, ""]), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.budget", description=__doc__.partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="make what the last whole run took the budget")
    asked = parser.parse_args(arguments)
    if not MEASURED.exists():
        print(f"{MEASURED.relative_to(ROOT)} is missing: run `make test` first", file=sys.stderr)
        return 2
    if asked.record:
        record()
    total, allowed = budget()
    took = measured()
    print("processor seconds of `make test`", *table(took, allowed), sep="\n")
    print(f"{sum(took.values()):8.1f} of {total:6.1f}  in all; {TOLERANCE * total:.0f} is too many")
    if is_within(took, total):
        return 0
    print("too many: make the dearest tests cheaper, or mark them slow and keep one size of each", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
