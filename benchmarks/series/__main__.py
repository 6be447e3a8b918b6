"""`python -m benchmarks.series [--quick | --levels SERIES]`: who answers when, what estimates hold, what else costs."""

import argparse
import os


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.series", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the devices and series")
    parser.add_argument("--levels", type=int, metavar="SERIES", help="only how often bands and marks hold, of so many")
    arguments = parser.parse_args()
    quick = arguments.quick
    # One core, and numpy reads this when it is first imported, hence the import below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.series import levels, tables

    if arguments.levels:
        for line in levels.table(arguments.levels):
            print(line, flush=True)
        return

    for table in (
        tables.who_answers(daily=100 if quick else 1000, cycles=20),
        tables.light_users(devices=10_000 if quick else 100_000, cycles=20),
        tables.coverage(devices=60_000, runs=30 if quick else 300),
        tables.smoother(runs=40),
        tables.closed_forms(),
        tables.alternatives(),
        tables.changes_only(),
    ):
        print(table, end="\n\n", flush=True)


if __name__ == "__main__":
    main()
