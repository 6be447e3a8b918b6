"""`python -m benchmarks.large [--list] [--only TEXT …] [--json]`: plans over very large domains and their decoding."""

import argparse
import json
import os
import sys


def main() -> int:
    """Print a line a request as it is found, as Markdown or JSON; 1 where a variance is above its target."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the names of the requests and do nothing")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="requests whose name has one of these in it")
    parser.add_argument("--reports", type=int, default=1_000_000, help="how many to draw and decode; 0 for none")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="of each plan")
    parser.add_argument("--json", action="store_true", help="print a line of JSON a request instead of tables")
    options = parser.parse_args()
    # One core, and numpy reads this when it is first imported, hence the imports below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.large import measure, tables
    from benchmarks.large.rows import ROWS

    rows = [row for row in ROWS if not options.only or any(text in row.name for text in options.only)]
    if not rows:
        parser.error(f"no request has {' or '.join(options.only)} in its name; --list prints all names")
    if options.list:
        print("\n".join(row.name for row in rows))
        return 0
    found: list[measure.Measured] = []
    if not options.json:
        print(tables.HEAD)
    for number, row in enumerate(measure.measured(rows, options.reports, options.time_limit), start=1):
        found.append(row)
        print(json.dumps(measure.as_json(row)) if options.json else tables.line(row), flush=True)
        left = f"{number} of {len(rows)}: {row.name}, {row.plan_wall_seconds:.1f} s for the plan"
        print(left, file=sys.stderr, flush=True)
    if not options.json:
        print(f"\n{tables.peers(found)}")
    return int(any(row.missed for row in found))


if __name__ == "__main__":
    sys.exit(main())
