"""`python -m benchmarks.accuracy [--quick] [--json] [--chart FILE]`: what the planner chose beside what it could."""

import argparse
import json
import os
import sys
from pathlib import Path

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def main() -> int:
    """Plan every workload, and print tables or one JSON array; 1 where a plan failed or a candidate was better."""
    options = _parser().parse_args()
    # One core, and numpy reads this when it is first imported, hence the imports below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.accuracy import chart, measure, tables, workloads

    known = workloads.quick() if options.quick else workloads.standard(options.bins, large=options.large)
    asked = [workload for workload in known if any(part in workload.name for part in options.workload)]
    epsilons = options.epsilon or ((1.0, 4.0) if options.quick else EPSILONS)
    outcomes: list[measure.Outcome] = []
    cases = measure.cases(asked, epsilons, options.seed)
    for outcome in measure.sweep(cases, options.results):
        outcomes.append(outcome)
        print(f"{len(outcomes)} of {len(cases)}: {outcome}", file=sys.stderr, flush=True)
    plans = [outcome for outcome in outcomes if isinstance(outcome, measure.Plan)]
    if options.chart is not None:
        options.chart.write_text(chart.draw(plans), encoding="utf-8")
    if options.json:
        print(json.dumps([outcome.as_json() for outcome in outcomes], indent=2))
    else:
        print(tables.summary(outcomes) if options.summary else tables.tables(outcomes))
    return int(len(plans) < len(outcomes) or any(plan.below for plan in plans))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few types and ε = 1 and 4 only, a minute")
    parser.add_argument("--bins", type=int, nargs="+", default=[32, 128], help="sizes of the domains on a line")
    parser.add_argument("--large", action="store_true", help="512 bins, 64 bins of ranges and 16x16 cells too, hours")
    parser.add_argument("--workload", nargs="+", default=[""], help="only workloads with one of these in their name")
    parser.add_argument("--epsilon", type=float, nargs="+", help="only these ε")
    parser.add_argument("--results", type=Path, help="keep every plan in this file, and do not make those in it again")
    parser.add_argument("--json", action="store_true", help="print one JSON array instead of tables")
    parser.add_argument("--summary", action="store_true", help="print the table of the first page instead")
    parser.add_argument("--chart", type=Path, help="write variance against ε as an SVG")
    parser.add_argument("--seed", type=int, default=0, help="seed of the designs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
