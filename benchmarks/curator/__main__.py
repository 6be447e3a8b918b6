"""`python -m benchmarks.curator [TABLE …] [--quick]`: releases of a trusted curator beside bounds and other mechanisms.

Tables: bounds, people, guarantees, pure, moments, coverage, noise; all of them if none is named.
"""

import argparse
import os
import sys


def main() -> int:
    """Print the tables as Markdown; 1 where an interval held too seldom or too often."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curator", description=__doc__)
    parser.add_argument("tables", nargs="*", help="bounds, people, guarantees, pure, moments, coverage, noise")
    parser.add_argument("--quick", action="store_true", help="small cases and few releases only")
    options = parser.parse_args()
    # One core, and numpy reads this when it is first imported, hence the imports below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.curator import bounds, coverage, guarantees, moments, noise, people, pure

    known = {
        "bounds": bounds.table,
        "people": people.table,
        "guarantees": guarantees.table,
        "pure": pure.table,
        "moments": moments.table,
        "coverage": coverage.table,
        "noise": noise.table,
    }
    if unknown := set(options.tables) - set(known):
        parser.error(f"there is no table {', '.join(sorted(unknown))}: choose from {', '.join(known)}")
    wrong = False
    for name in options.tables or known:
        print(f"\n{name}\n")
        for line in known[name](quick=options.quick):
            print(line, flush=True)
            wrong |= line.endswith("| no |")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
