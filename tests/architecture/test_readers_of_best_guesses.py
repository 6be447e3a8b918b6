"""Differences, windows, contrasts and pooled answers read unbiased values: a bias does not cancel or average out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ANALYSIS = Path(__file__).parents[2] / "analysis" / "sordino_analysis"
READERS = [
    *(ANALYSIS / "comparisons").glob("*.py"),
    *(ANALYSIS / "experiments").glob("*.py"),
    *(ANALYSIS / "panel").glob("*.py"),
    *(ANALYSIS / "estimation" / name for name in ("pooling.py", "derived_answers.py", "groups.py", "fieller.py")),
    *(ANALYSIS / "analyst" / name for name in ("contrasts.py", "comparisons.py", "experiments.py", "series.py")),
    *(ANALYSIS / "kinds" / name for name in ("arms.py", "two_campaigns.py", "series.py", "series_document.py")),
]


def readings(source: str) -> list[int]:
    """Lines that read an attribute or a column of best guesses; a name in a list of those left out is none."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in ("best", "best_histogram", "guess"):
            found.append(node.lineno)
        arguments = node.args if isinstance(node, ast.Call) else [node.slice] if isinstance(node, ast.Subscript) else []
        found += [one.lineno for one in arguments if isinstance(one, ast.Constant) and one.value == "best"]
    return found


@pytest.mark.parametrize("path", READERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_is_subtracted_or_averaged_is_unbiased(path: Path) -> None:
    assert readings(path.read_text()) == []


def test_a_reader_is_found() -> None:
    assert readings('x.best\ntable.numbers("best")\nrow["best"]\nleft_out = ("best", "cut")\n') == [1, 2, 3]
