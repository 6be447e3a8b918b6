"""`python -m benchmarks.accuracy.pairwise_coverage`: how often 95 % intervals of pairwise statistics hold, and warn."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.accuracy.coverage_cases import Cell
    from benchmarks.accuracy.coverage_runs import Tried

# One core, and numpy reads this when it is first imported, hence the imports inside functions.
os.environ["OPENBLAS_NUM_THREADS"] = "1"


def main() -> None:
    """Play the campaigns of every cell, and print tables; about three seconds of one core a cell for 1000 campaigns."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.pairwise_coverage", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=1000, help="per cell, with those that --lines has")
    parser.add_argument("--repeats", type=int, default=4, help="second rounds that follow each first round")
    parser.add_argument("--statistic", nargs="+", help="names of the statistics, all by default")
    parser.add_argument("--protocol", nargs="+", help="names of the protocols, all of one and two rounds by default")
    parser.add_argument("--seed", type=int, default=1)
    lines = (
        "files of one JSON line a cell, added to the first; lines of a cell are pooled, those of the first file with it"
    )
    parser.add_argument("--lines", type=Path, nargs="+", default=[], help=lines)
    parser.add_argument("--table", action="store_true", help="print the tables of what --lines has, and play nothing")
    parser.add_argument("--every", action="store_true", help="print a line for every cell too")
    options = parser.parse_args()
    from benchmarks.accuracy.coverage_cases import all_cells
    from benchmarks.accuracy.coverage_tables import all_lines, tables

    cells = [cell for cell in all_cells() if _is_asked(cell, options)]
    known = _read(options.lines)
    if not options.table:
        _play(cells, known, options)
    rows = [known[cell] for cell in cells if cell in known]
    print(tables(rows))
    if options.every:
        print("\n" + all_lines(rows))


def _is_asked(cell: Cell, options: argparse.Namespace) -> bool:
    return (options.statistic is None or cell.statistic in options.statistic) and (
        options.protocol is None or cell.protocol in options.protocol
    )


def _read(files: list[Path]) -> dict[Cell, Tried]:
    from benchmarks.accuracy.coverage_runs import pooled
    from benchmarks.accuracy.coverage_tables import read_line

    known: dict[Cell, Tried] = {}
    for file in filter(Path.exists, files):
        found: dict[Cell, Tried] = {}
        for row in map(read_line, file.read_text(encoding="utf-8").splitlines()):
            found[row.cell] = pooled(found[row.cell], row) if row.cell in found else row
        known = found | known
    return known


def _play(cells: list[Cell], known: dict[Cell, Tried], options: argparse.Namespace) -> None:
    """What is missing of every cell, into `known` and the file of lines."""
    from benchmarks.accuracy.coverage_runs import Designs, pooled, tried
    from benchmarks.accuracy.coverage_tables import written_line

    designs = Designs()
    for cell in cells:
        played = known[cell].campaigns if cell in known else 0
        if played >= options.campaigns:
            continue
        # Campaigns that are added have a stream of their own.
        row = tried(designs, cell, options.campaigns - played, options.repeats, options.seed + played)
        if options.lines:
            with options.lines[0].open("a", encoding="utf-8") as file:
                file.write(written_line(row) + "\n")
        known[cell] = pooled(known[cell], row) if cell in known else row
        print(row, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
