"""The counts of the source count what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.structure import constants, names, size
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


def _counted(root: Path, place: str, text: str) -> list[tuple[str, bool]]:
    """The constants of one module of the analysis, each with whether it has a reason."""
    path = root / "analysis" / "sordino_analysis" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    (root / "benchmarks").mkdir(exist_ok=True)
    (root / "benchmarks" / "steps.py").write_text("")
    return [(constant.text, constant.reasoned) for constant in constants.constants(Tree(root))]


@pytest.mark.parametrize(
    "formula",
    [
        "x = 4 * y + y**7 / 12",
        "x = y[3]",
        "x = round(y, 4)",
        "x = y - 1 if y < 0 else 0.5 * y",
        "x = len(y) == 3",
        "def f(level: float = 0.95): pass",
        "x = 1 << 64",
        "x: Literal[7]",
    ],
)
def test_formulas_have_no_constants_that_tune(tmp_path: Path, formula: str):
    assert _counted(tmp_path, "figures.py", f"def g(y):\n    {formula}\n") == []


@pytest.mark.parametrize("text", ["STEPS = 40\n", "def f(steps=40): pass\n", "for step in range(40): pass\n"])
def test_a_number_of_steps_tunes(tmp_path: Path, text: str):
    assert [reasoned for _, reasoned in _counted(tmp_path, "figures.py", text)] == [False]


def test_a_comment_is_a_reason_but_in_searches(tmp_path: Path):
    text = "# More take longer.\nSTEPS = 40\n"
    assert _counted(tmp_path, "figures.py", text) == [("STEPS = 40", True)]
    assert ("STEPS = 40", False) in _counted(tmp_path, "optimisation/search.py", text)


@pytest.mark.parametrize(("command", "exists"), [("benchmarks.steps", True), ("benchmarks.stairs", False)])
def test_the_command_of_a_table_exists(tmp_path: Path, command: str, exists: bool):
    text = f'''class Table:
    """Of a search. Measured: `python -m {command}`."""

    steps: int = 40
    """More take longer."""
    bare: int = 41
'''
    counted = dict(_counted(tmp_path, "optimisation/tuning.py", text))
    assert counted == {"steps = 40": exists, "bare = 41": False}


def test_limits_and_tolerances_of_searches_need_no_command(tmp_path: Path):
    text = "# Rounding.\n_SAME = 1e-9\n# 8 MiB.\n_BLOCK = 1 << 20\n# Minutes beyond.\nMOST_TYPES = 700\n_BARE = 1e-9\n"
    counted = dict(_counted(tmp_path, "optimisation/search.py", text))
    assert counted == {
        "_SAME = 1e-09": True,
        "_BLOCK = 1 << 20": True,
        "MOST_TYPES = 700": True,
        "_BARE = 1e-09": False,
    }
