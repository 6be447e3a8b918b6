"""`python -m benchmarks.accuracy.pairwise_coverage`: how often 95 % intervals of statistics of pairs hold, and warn."""

import argparse
import os
import sys
from pathlib import Path


def main() -> None:
    """Play the campaigns of every cell, and print tables; two to ten seconds of one core a cell for 300 campaigns."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.pairwise_coverage", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5, help="second rounds that follow each first round")
    parser.add_argument("--statistic", nargs="+", help="names of the statistics, all by default")
    parser.add_argument("--protocol", nargs="+", help="names of the protocols, all of one and two rounds by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lines", type=Path, help="add one JSON line a cell to this file; cells in it are not played")
    options = parser.parse_args()
    # One core, and numpy reads this when it is first imported, hence the imports below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.accuracy.coverage_cases import all_cells
    from benchmarks.accuracy.coverage_runs import Designs, tried
    from benchmarks.accuracy.coverage_tables import read_line, tables, written_line

    known = {}
    if options.lines is not None and options.lines.exists():
        known = {row.cell: row for row in map(read_line, options.lines.read_text(encoding="utf-8").splitlines())}
    rows, designs = [], Designs()
    for cell in all_cells():
        if options.statistic and cell.statistic not in options.statistic:
            continue
        if options.protocol and cell.protocol not in options.protocol:
            continue
        if cell not in known:
            known[cell] = tried(designs, cell, options.campaigns, options.repeats, options.seed)
            if options.lines is not None:
                with options.lines.open("a", encoding="utf-8") as file:
                    file.write(written_line(known[cell]) + "\n")
            print(known[cell], file=sys.stderr, flush=True)
        rows.append(known[cell])
    print(tables(rows))


if __name__ == "__main__":
    main()
