"""The counts of the source count what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.structure import names, size
from benchmarks.structure.tree import Tree, checkout


@pytest.fixture
def small(tmp_path: Path) -> Tree:
    """A product of one server module, which does all that is counted."""
    package = tmp_path / "server" / "sordino_server"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""The server, which may export concepts."""\n')
    (package / "rounds.py").write_text(
        '"""Rounds of concepts."""\n'
        "# concepts are named in words only\n"
        "def run(fields):\n"
        '    """Of a concept."""\n'
        '    if "forms" in fields:\n'
        '        return "sordino_server.rounds:run"\n'
        '    return "sordino_server.cli.demo:main"\n'
    )
    return Tree(tmp_path)


def test_lines_and_functions(small: Tree):
    assert (size.lines(small), size.files(small)) == (8, 2)
    assert size.function_lines(small) == (5, 5, 5)


def test_comments_and_docstrings_name_nothing(small: Tree):
    assert names.modules_that_name_concepts(small) == []
    rounds = small.root / "server" / "sordino_server" / "rounds.py"
    rounds.write_text(rounds.read_text() + "concept_rules = None\n")
    assert names.modules_that_name_concepts(Tree(small.root)) == ["sordino_server.rounds"]


def test_strings_upward_and_kinds(small: Tree):
    assert names.module_strings(small) == ["sordino_server.rounds: sordino_server.cli.demo:main"]
    assert names.kinds_told_by_hand(small) == ["sordino_server.rounds"]


def test_the_working_tree_is_read():
    with checkout(None) as tree:
        assert {"sordino_server.config", "sordino_shared.audit"} <= {module.name for module in tree.product}
