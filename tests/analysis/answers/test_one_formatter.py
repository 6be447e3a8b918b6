"""Numbers of answers are written by the one formatter: no other module that presents them formats floats."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
A, S = ROOT / "analysis" / "sordino_analysis", ROOT / "server" / "sordino_server"
# `charts/svg.py` writes coordinates, to a tenth of a pixel.
COORDINATES = {A / "charts" / "svg.py"}
PRESENTING = [
    *(path for folder in ("answers", "charts", "analyst", "kinds") for path in (A / folder).rglob("*.py")),
    *(path for folder in ("cli", "console", "estimates", "exports") for path in (S / folder).rglob("*.py")),
]


def formats(source: str) -> list[str]:
    """Format specifications of floats in f-strings and calls of `format`, but for those that are read back."""
    tree = ast.parse(source)
    read_back = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("float", "int")
        for argument in node.args
        for inner in ast.walk(argument)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None and id(node) not in read_back:
            spec = ast.unparse(node.format_spec)[2:-1]
            if spec.rstrip("}")[-1:] in ("e", "f", "g", "E", "F", "G", "%", "n"):
                found.append(f"line {node.lineno}: {spec}")
    return found


def test_a_format_of_a_float_is_found() -> None:
    assert formats('f"{share:.2f}"') == ["line 1: .2f"]
    assert formats('f"{epsilon:g} and {count:,}"') == ["line 1: g"]
    assert formats('float(f"{number:.10g}")') == []


@pytest.mark.parametrize("path", PRESENTING, ids=lambda path: "/".join(path.parts[-2:]))
def test_no_module_that_presents_answers_formats_floats(path: Path) -> None:
    if path not in COORDINATES:
        assert formats(path.read_text(encoding="utf-8")) == []
