"""`python -m benchmarks.coverage [--quick] [--json]`: how often intervals and bands hold, and what is said of it."""

import argparse
import json
import os
import sys


def main() -> int:
    """Print a line a case as it is found, as Markdown or JSON; 1 where a warning is missing or without reason."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two mechanisms and 100 campaigns a case only")
    parser.add_argument("--mechanism", nargs="+", help="cases of these mechanisms only")
    parser.add_argument("--workload", nargs="+", help="cases of these workloads only")
    parser.add_argument("--epsilon", nargs="+", default=["0.5", "1", "2", "4", "8"])
    parser.add_argument("--users", nargs="+", type=int, default=[50, 200, 1000, 5000, 20000])
    parser.add_argument("--campaigns", type=int, default=400)
    parser.add_argument("--json", action="store_true", help="print a line of JSON a case instead of a table")
    options = parser.parse_args()
    # One core, and numpy reads this when it is first imported, hence the import below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.coverage import measure

    cases = [
        case
        for case in measure.CASES
        if (not options.mechanism or case.mechanism in options.mechanism)
        and (not options.workload or case.kind in options.workload)
    ]
    wrong = False
    if not options.json:
        print(measure.HEAD)
    for case in cases[:2] if options.quick else cases:
        for epsilon in options.epsilon:
            campaigns = 100 if options.quick else options.campaigns
            for row in measure.coverages(case, epsilon, options.users, campaigns):
                wrong |= row.wrong
                print(json.dumps(measure.as_json(row)) if options.json else measure.line(row), flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
