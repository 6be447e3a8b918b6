"""`python -m benchmarks.accuracy [--quick] [--json] [--chart FILE]`: what the planner chose beside what it could."""

import argparse
import json
import os
import sys
from pathlib import Path

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def main() -> None:
    """Plan every workload, and print a table or one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="8 bins and ε = 1 and 4 only, seconds")
    parser.add_argument("--bins", type=int, nargs="+", default=[32, 128], help="sizes of the domains")
    parser.add_argument("--large", action="store_true", help="prefix sums over 512 bins too, half an hour")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--chart", type=Path, help="write the ratios to the bound as an SVG")
    parser.add_argument("--seed", type=int, default=0, help="seed of the designs")
    options = parser.parse_args()
    # One core, and numpy reads this when it is first imported, hence the imports below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.accuracy import chart, measure

    sizes = [8] if options.quick else options.bins
    epsilons = (1.0, 4.0) if options.quick else EPSILONS
    rows = []
    for row in measure.plans(measure.workloads(sizes), epsilons, options.seed):
        rows.append(row)
        print(f"{row.workload}, ε = {row.epsilon:g}, {row.objective}: {row.seconds:.1f} s", file=sys.stderr)
    if options.large:
        rows += measure.plans([("prefix", 512)], (1.0,), options.seed)
    if options.chart is not None:
        options.chart.write_text(chart.draw(rows), encoding="utf-8")
    print(json.dumps(measure.as_json(rows), indent=2) if options.json else measure.table(rows))


if __name__ == "__main__":
    main()
