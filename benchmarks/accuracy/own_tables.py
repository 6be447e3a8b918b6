"""`python -m benchmarks.accuracy.own_tables`: how often intervals of a table of one's own hold, by the number of users.

The table is [0, 0, .5, 1, 1, 1] over 6 bins, asked in two rounds of the same users. From it comes the number of users
below which an estimate warns.
"""

import argparse
import os

USERS = (50, 100, 200, 500, 1000, 2000)
# Second rounds after each first one.
_REPEATS = 4


def main() -> None:
    """Print a line for each number of users, as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.own_tables", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=1000, help="for each cell of the table")
    parser.add_argument("--users", type=int, nargs="+", default=USERS)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # One core, and numpy reads this when it is first imported, hence the imports below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.accuracy.coverage_cases import OWN_TABLE, POPULATIONS, Cell
    from benchmarks.accuracy.coverage_runs import Designs, tried

    designs = Designs()
    print(f"| ε = {options.epsilon:g}: users | {' | '.join(POPULATIONS)} | warned |")
    print("| --- " * (len(POPULATIONS) + 2) + "|")
    for users in options.users:
        cells = [Cell(OWN_TABLE, "two_round_shared", options.epsilon, users, each) for each in POPULATIONS]
        rows = [tried(designs, cell, options.campaigns, _REPEATS, options.seed) for cell in cells]
        held = " | ".join(f"{row.coverage:.3f} ± {row.standard_error:.3f}" for row in rows if row.coverage is not None)
        print(f"| {users:,} | {held} | {max(row.doubted for row in rows):.2f} |", flush=True)


if __name__ == "__main__":
    main()
