"""Lines and modules that present answers, by what they do, and the modules that write a column of theirs by hand.

`python -m benchmarks.structure.answers [--revision REV] [--json]` prints the table of a revision, or of today's files.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks.structure.tree import Tree, checkout

_A, _S = "analysis/sordino_analysis", "server/sordino_server"
# By category, the files that say an answer in that form; a file counts in the first category that names it.
CATEGORIES = {
    "value types": (
        f"{_A}/answers/(columns|table|document|reading|filling|findings).py",
        f"{_A}/kinds/reading.py",
        f"{_A}/estimation/(linear_estimate|answer_on_demand).py",
        f"{_A}/pairwise/statistic_estimate.py",
        f"{_A}/panel/period_answers.py",
        f"{_A}/average_case/answers.py",
        f"{_A}/(figures|percentages).py",
    ),
    "schemas": (
        f"{_S}/(estimates|answers)/(schemas|concept_schemas).py",
        f"{_S}/(answers|series|exports).*/schemas.py",
        f"{_A}/kinds/(on_demand|release|series).py",
        f"{_S}/releases/schemas.py",
    ),
    "builders": (
        f"{_S}/estimates/(document|concept_document|pairwise_document|stored_estimate).py",
        f"{_S}/(answers|series)/(computing|on_demand_computing|series_computing).py",
        f"{_S}/releases/document.py",
        f"{_A}/kinds/(linear_document|pairwise_document|concept_rounds|release_document|series_document).py",
        f"{_A}/questions/linear/columns.py",
    ),
    "tables": (
        f"{_A}/answers/(csv_text|parquet|frames|text|html|shown).py",
        f"{_A}/analyst/(frames|display|results).py",
        f"{_S}/(exports|answers)/(endpoints|parquet_bytes|service|export).py",
        f"{_S}/(estimates|answers)/views.py",
    ),
    "pictures": (
        f"{_A}/answers/svg.py",
        f"{_A}/charts/(answers|estimate_shapes|estimates|marginals|range_maps|ranked_intervals|series).py",
        f"{_A}/analyst/pictures.py",
        f"{_S}/(estimates|answers|series)/picture.py",
    ),
    "prints of the command line": (
        f"{_S}/cli/(answers|campaign_results|concept_results|release_results|series_results|statistics|estimate_text).py",
    ),
    "simulated summaries": (
        f"{_S}/cli/simulation/(summary|comparison|concept_summary|statistic_summary|presented_run|presented_series|"
        "repeated_campaigns|columns).py",
        f"{_A}/kinds/comparison.py",
    ),
    "notebook": (f"{_A}/analyst/(estimates|items|rules|pairs|simulation|series|on_average|chosen_items).py",),
    "console": (
        f"{_S}/console/(answer_pages|estimate_pages|estimate_copies|series_pages).py",
        f"{_S}/console/templates/(answers|estimate|series|status).html",
    ),
}
COLUMN = "population_standard_error"


@dataclass(frozen=True)
class Presented:
    """Lines and files of one category."""

    lines: int
    files: int


def presented(root: Path) -> dict[str, Presented]:
    """Lines and files by category of a tree of files."""
    counted: dict[str, Presented] = {}
    left = sorted(path.relative_to(root).as_posix() for part in (_A, _S) for path in (root / part).rglob("*.*"))
    for name, patterns in CATEGORIES.items():
        own = [path for path in left if any(re.fullmatch(pattern, path) for pattern in patterns)]
        left = [path for path in left if path not in own]
        lines = sum((root / path).read_text(encoding="utf-8").count("\n") for path in own)
        counted[name] = Presented(lines, len(own))
    return counted


def writers(tree: Tree, column: str = COLUMN) -> list[str]:
    """The modules in whose code, strings or docstrings the name of the column stands."""
    return [module.name for module in tree.product if column in module.text]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--revision", help="a commit or branch; today's working tree without it")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    options = parser.parse_args()
    with checkout(options.revision) as tree:
        counted = presented(tree.root)
        naming = writers(tree)
    total = Presented(sum(each.lines for each in counted.values()), sum(each.files for each in counted.values()))
    rows = {**counted, "all": total}
    if options.json:
        print(json.dumps({"lines": {name: each.lines for name, each in rows.items()}, COLUMN: naming}, indent=2))
        return
    for name, each in rows.items():
        print(f"| {name} | {each.lines:,} | {each.files} |")
    print(f"| modules that write `{COLUMN}` | | {len(naming)} |")


if __name__ == "__main__":
    main()
