"""`python -m benchmarks.structure [--revision REV]`: the counts of the source, today's or those of a revision."""

from __future__ import annotations

import argparse
import json
from typing import Any

from benchmarks.structure import names, size
from benchmarks.structure.tree import Tree, checkout


def measure(tree: Tree) -> dict[str, Any]:
    """Every count by its name; lists of places are counted."""
    median, most, longest = size.function_lines(tree)
    return {
        "product lines": size.lines(tree),
        "product files": size.files(tree),
        **{f"lines of {name}": count for name, count in size.lines_by_distribution(tree).items()},
        "lines of a function: median": median,
        "lines of a function: 95th percentile": most,
        "lines of a function: longest": longest,
        "server modules that name concepts": len(names.modules_that_name_concepts(tree)),
        "strings that name a module outside programs": len(names.module_strings(tree)),
        "server modules that tell kinds by hand": len(names.kinds_told_by_hand(tree)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--revision", help="a commit or branch; today's working tree without it")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    options = parser.parse_args()
    with checkout(options.revision) as tree:
        counts = measure(tree)
    if options.json:
        print(json.dumps(counts, indent=2))
        return
    for name, count in counts.items():
        print(f"| {name} | {count:,} |")


if __name__ == "__main__":
    main()
