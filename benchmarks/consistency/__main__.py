"""`python -m benchmarks.consistency [--quick] [--json] [--chart FILE]`: error with and without consistency."""

import argparse
import json
import os
import sys
from pathlib import Path


def main() -> int:
    """Simulate campaigns, and print a table or one JSON array; 1 where consistency made an error larger."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consistency", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few types and users only, seconds")
    parser.add_argument("--epsilon", type=float, default=1.0, help="every user's budget")
    parser.add_argument("--json", action="store_true", help="print one JSON array instead of a table")
    parser.add_argument("--chart", type=Path, help="write the shares of error that are left as an SVG")
    options = parser.parse_args()
    # One core, and numpy reads this when it is first imported, hence the imports below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.consistency import chart, measure
    from benchmarks.consistency.populations import populations
    from sordino_analysis.request_terms import Effort

    sizes = [100, 10_000] if options.quick else [10**power for power in range(2, 7)]
    effort = Effort.QUICK if options.quick else Effort.STANDARD
    rows = []
    for row in measure.errors(populations(8 if options.quick else 64), sizes, options.epsilon, effort):
        rows.append(row)
        print(f"{row.population}, {row.users} users: {row.ratio:.3f}", file=sys.stderr, flush=True)
    if options.chart is not None:
        options.chart.write_text(chart.draw(rows), encoding="utf-8")
    print(json.dumps(measure.as_json(rows), indent=2) if options.json else measure.table(rows))
    return int(any(row.worse for row in rows))


if __name__ == "__main__":
    sys.exit(main())
