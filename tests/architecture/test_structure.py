"""What a reader may rely on: one version, short files with a first sentence, names that say what is inside."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = ("shared", "client", "shuffler", "analysis", "migrations", "server")
# A file or function beyond this most likely hides a noun that wants a file of its own.
MAX_LINES = 400
MAX_FUNCTION_LINES = 60
# More fields than this are given by name: a call with five values in a row cannot be read, or reordered safely.
MAX_POSITIONAL_FIELDS = 4


def _project(distribution: str) -> dict[str, Any]:
    content: dict[str, Any] = tomllib.loads((ROOT / distribution / "pyproject.toml").read_text())["project"]
    return content


def test_one_version() -> None:
    versions = {_project(name)["version"] for name in DISTRIBUTIONS}
    assert len(versions) == 1
    (version,) = versions
    for name in DISTRIBUTIONS:
        text = (ROOT / name / f"sordino_{name}" / "__init__.py").read_text()
        assert re.search(r'^__version__ = "(.+)"$', text, flags=re.MULTILINE)[1] == version  # type: ignore[index]
        own = [need for need in _project(name)["dependencies"] if need.startswith("sordino")]
        assert all(need.endswith(f"=={version}") for need in own)


def test_no_drawers(sources: list[Any]) -> None:
    drawers = {"utils", "util", "common", "helpers", "helper", "misc", "core", "base_utils"}
    for source in sources:
        assert not drawers & set(source.name.split(".")), source.name


def test_every_module_says_what_it_is(sources: list[Any]) -> None:
    for source in sources:
        assert ast.get_docstring(source.tree), source.name


def test_files_and_functions_are_short(sources: list[Any]) -> None:
    for source in sources:
        assert source.text.count("\n") <= MAX_LINES, source.name
        for node in ast.walk(source.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                assert lines <= MAX_FUNCTION_LINES, f"{source.name}.{node.name} has {lines} lines"


def test_a_second_operator_reads_2_750_lines(sources: list[Any]) -> None:
    """Blank lines are not read. Of these 220 are about tokens."""
    lines = [line for each in sources if each.name.startswith("sordino_shuffler") for line in each.text.splitlines()]
    assert 2000 < sum(1 for line in lines if line.strip()) <= 2750


def _positional_fields(definition: ast.ClassDef) -> int:
    """The number of fields that the constructor of this dataclass takes by position; 0 for any other class."""
    decorators = [ast.unparse(each) for each in definition.decorator_list]
    if not any(each.startswith("dataclass") and "kw_only=True" not in each for each in decorators):
        return 0
    annotations = [ast.unparse(each.annotation) for each in definition.body if isinstance(each, ast.AnnAssign)]
    annotations = [each for each in annotations if not each.startswith("ClassVar")]
    return annotations.index("KW_ONLY") if "KW_ONLY" in annotations else len(annotations)


def test_dataclasses_of_many_fields_take_keywords(sources: list[Any]) -> None:
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                fields = _positional_fields(node)
                assert fields <= MAX_POSITIONAL_FIELDS, f"{source.name}.{node.name} needs kw_only=True: {fields} fields"


# Tables are named as the noun that they keep; queries are written in one form and published in another.
SHARED_NAMES = {"Campaign", "Estimate", "MatrixQueries", "StackQueries", "StackedQueries"}


def test_a_class_name_means_one_thing(sources: list[Any]) -> None:
    homes: dict[str, set[str]] = {}
    for source in sources:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(source.name)
    assert {name for name, found in homes.items() if len(found) > 1} == SHARED_NAMES


def test_no_unfinished_work(sources: list[Any]) -> None:
    for source in sources:
        assert not re.search(r"\b(TODO|FIXME|XXX|NotImplementedError)\b", source.text), source.name


def test_tests_have_no_packages() -> None:
    """Test files are told apart by their path; an __init__.py would make two of one name collide."""
    assert not list((ROOT / "tests").rglob("__init__.py"))
