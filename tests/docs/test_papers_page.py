"""Every file and every name that the page of the five papers holds a theorem to exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
ANALYSIS = ROOT / "analysis" / "sordino_analysis"
PAPERS = ("Edmonds, Nikolov and Ullman", "Nikolov, Talwar and Zhang", "Aldà and Simon", "Ghazi et al.", "Nikolov 2022")
STATES = ("works", "replaced", "not used", "shown")


def rows() -> list[list[str]]:
    """Cells of every row of every table, without the heads."""
    found = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in found if not row[0].startswith(" theorem")]


def place(module: str) -> Path:
    return ROOT / module if module.startswith(("benchmarks/", "tests/")) else ANALYSIS / module


def test_there_is_a_table_for_each_paper() -> None:
    heads = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert len(heads) == len(PAPERS)
    assert all(paper in head for paper, head in zip(PAPERS, heads, strict=True))
    assert len(rows()) > 35


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:40])
def test_a_row_says_where_its_theorem_is_or_why_it_is_nowhere(row: list[str]) -> None:
    theorem, modules, tests, state = row
    named = re.findall(r"`([\w/.]+\.py)(?:::(\w+))?`", modules)
    for module, name in named:
        text = place(module).read_text(encoding="utf-8")
        assert not name or re.search(rf"^(?:class|def|type) {name}\b|^{name}\b.*=", text, re.MULTILINE), (module, name)
    for test in re.findall(r"`([^`]+)`", tests):
        assert test.startswith("tests/")
        assert place(test).is_file(), test
    assert any(state.startswith(word) for word in STATES) or state.startswith("the same"), theorem
    # What is nowhere has neither a module nor a test, and the reason instead.
    assert bool(named) == bool(tests) == (not state.startswith("not used"))
