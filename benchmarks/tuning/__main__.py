"""`python -m benchmarks.tuning NAME`: what the constants of a search trade.

NAME is a package as `search`, a table as `search.descent` or one constant as `search.descent.past_steps`. Each constant
is planned with at half, once and twice its value in the cheapest cases of `cases.py` that read it: a change of the
standard error, of the certified bound on it, and the processor time relative to that at its value.
"""

from __future__ import annotations

import argparse
import os
import sys


def main() -> None:
    """Print one row of a table for each constant and case."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("name", metavar="NAME", nargs="*", help="a package, a table or a constant; all without it")
    parser.add_argument("--list", action="store_true", help="print the names and values, and measure nothing")
    parser.add_argument("--cases", type=int, default=2, help="cases for each constant, the cheapest first; default: 2")
    options = parser.parse_args()
    # One core, and numpy reads this when it is first imported, hence the imports below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.tuning.measure import Bench
    from benchmarks.tuning.rows import HEAD, row, unread
    from benchmarks.tuning.tables import constants

    names = options.name or [""]
    chosen = [one for one in constants() if any(one.is_in(name) for name in names)]
    if not chosen:
        sys.exit(f"no constant begins with {' or '.join(names)}: --list prints their names")
    if options.list:
        for one in chosen:
            print(f"{one.name} = {one.value}")
        return
    bench = Bench(options.cases)
    print(HEAD)
    for constant in chosen:
        rows = [row(comparison) for comparison in bench.compared(constant)]
        print("\n".join(rows or [unread(constant)]), flush=True)


if __name__ == "__main__":
    main()
