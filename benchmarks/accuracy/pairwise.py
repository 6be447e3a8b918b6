"""`python -m benchmarks.accuracy.pairwise`: what every protocol reaches on every statistic, beside what it predicts."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TYPES, USERS = 256, 100_000
QUICK_TYPES, QUICK_USERS, QUICK_RUNS = 16, 20_000, 20


def main() -> None:
    """Measure, and print a table; runs of protocols that report vectors take a minute each at 256 types."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.pairwise", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="16 types, 20,000 users and 20 runs only, a minute")
    parser.add_argument("--types", type=int, default=TYPES, help="cells of the domain, a square")
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--runs", type=int, default=300, help="runs of protocols with finite kernels")
    parser.add_argument("--vector-runs", type=int, default=8, help="runs of the others, and of subset selection")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0])
    parser.add_argument("--statistic", nargs="+", help="names of the statistics, all by default")
    parser.add_argument("--protocol", nargs="+", help="names of the protocols, all and subset_selection by default")
    parser.add_argument("--effort", default="standard", choices=["quick", "standard", "thorough"])
    parser.add_argument("--seed", type=int, default=1, help="seed of the runs; designs have seed 0")
    parser.add_argument("--json", type=Path, help="write the measurements to this file too")
    options = parser.parse_args()
    if options.quick:
        options.types, options.users = QUICK_TYPES, QUICK_USERS
        options.runs, options.vector_runs, options.effort = QUICK_RUNS, 2, "quick"
    # One core, and numpy reads this when it is first imported, hence the imports below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.accuracy.pairwise_runs import Measured, as_json, table

    found: list[Measured] = []
    for row in _rows(options):
        found.append(row)
        print(f"{row.case}, {row.protocol}, ε = {row.epsilon:g}: {row.achieved:.3g}", file=sys.stderr, flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps(as_json(found), indent=2), encoding="utf-8")
    print(table(found))


def _rows(options: argparse.Namespace) -> Iterator[Any]:
    from benchmarks.accuracy.pairwise_cases import cases
    from benchmarks.accuracy.pairwise_runs import designed, measure, measure_subset_selection, reports_vectors

    for case in cases(options.types).values():
        if options.statistic and case.name not in options.statistic:
            continue
        for epsilon in options.epsilon:
            for design in designed(case, epsilon, options.users, options.effort, options.protocol):
                runs = options.vector_runs if reports_vectors(design) else options.runs
                yield measure(case, design, runs, options.seed)
            if not options.protocol or "subset_selection" in options.protocol:
                yield measure_subset_selection(case, epsilon, options.users, options.vector_runs, options.seed)


if __name__ == "__main__":
    main()
