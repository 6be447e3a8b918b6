"""`python -m benchmarks.ingest [--quick] [--json FILE] [--database sqlite|postgres]`: what a report costs."""

import argparse
import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the reports, about a minute")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite", help="on the server's core")
    options = parser.parse_args()
    # One core, and numpy reads this when it is first imported, hence the import below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.ingest import measure

    found = []
    print("| figure | measured | target | met |\n|---|---|---|---|")
    for figure in measure.figures(measure.QUICK if options.quick else measure.FULL, options.database):
        found.append(figure)
        shown = f"{figure.value:,.0f}" if figure.value >= 1000 else f"{figure.value:.3g}"
        met = ("yes" if figure.met else "no") if figure.target else ""
        print(f"| {figure.name} | {shown} {figure.unit} | {figure.target} | {met} |", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(measure.as_json(found), indent=2) + "\n", encoding="utf-8")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
