"""A duration, or an amount of memory, says its unit: in its name (`drain_s`, `max_body_bytes`) or in the docstring.

Moments (`now`, `closed_at`) are Unix seconds everywhere. A privacy parameter is ε unless its name says nano.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("shared", "client", "analysis", "server")
DURATION = re.compile(r"(^|_)(timeout|time_limit|deadline|delay|wait|age|duration|elapsed)$")
MEMORY = re.compile(r"(^|_)(memory|largest_part|body|peak)$")
SECONDS = re.compile(r"\b(seconds?|minutes?|hours?|days?|ms)\b", re.IGNORECASE)
BYTES = re.compile(r"\b(bytes|kB|[KMG]iB|MB)\b", re.IGNORECASE)


def unit_of(name: str) -> re.Pattern[str] | None:
    """What the text beside a number of this name has to say; None where the name says it, or needs no unit."""
    if DURATION.search(name):
        return SECONDS
    return BYTES if MEMORY.search(name) else None


def is_number(annotation: ast.expr | None) -> bool:
    """Whether an annotation is `int` or `float`, or one of them or None."""
    return (
        annotation is not None
        and {each.strip() for each in ast.unparse(annotation).split("|")} & {"int", "float"} != set()
    )


def numbers(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """(owner, name, text) of each number that a documented public function takes, or class holds."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        text = ast.get_docstring(node)
        if text is None:  # An override has that of what it overrides.
            continue
        if isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and is_number(each.annotation):
                    yield node.name, each.target.id, text + (ast.unparse(each.value) if each.value else "")
        else:
            for argument in [*node.args.args, *node.args.kwonlyargs]:
                if is_number(argument.annotation):
                    yield node.name, argument.arg, text


def without_unit(source: str) -> list[str]:
    """Numbers of a module whose unit stands neither in their name nor in the text beside them."""
    found = []
    for owner, name, text in numbers(ast.parse(source)):
        unit = unit_of(name)
        if unit is not None and not unit.search(text):
            found.append(f"{owner}.{name}")
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_durations_and_memory_have_a_unit(package: str) -> None:
    paths = sorted((ROOT / package).rglob("*.py"))
    found = {str(path.relative_to(ROOT)): without_unit(path.read_text(encoding="utf-8")) for path in paths}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_duration_without_a_unit_is_found() -> None:
    source = 'def fetch(timeout: float | None) -> None:\n    """{}"""\n'
    assert without_unit(source.format("Read the body.")) == ["fetch.timeout"]
    assert without_unit(source.format("Read the body within `timeout` seconds.")) == []
    assert without_unit('def fetch(timeout_s: float) -> None:\n    """Read the body."""\n') == []
    assert without_unit('class Limits:\n    """Of a plan."""\n    planning_memory: int') == ["Limits.planning_memory"]
