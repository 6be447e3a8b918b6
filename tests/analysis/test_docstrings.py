"""Every public function on arrays that has a docstring states a shape, such as (Q, k); overrides may inherit theirs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sordino_analysis

ROOT = Path(sordino_analysis.__file__).parent
ARRAY = re.compile(r"\b(NDArray|Floats|Integers|Indices|Mask|Complex)\b")
DIMENSION = r"[\w·′+−\-*/^ …]{1,24}"
SHAPE = re.compile(rf"\((?:{DIMENSION},\s?)+(?:{DIMENSION})?\)")


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Public functions and public methods of public classes."""
    for node in tree.body:
        members = [node] if isinstance(node, ast.FunctionDef) else getattr(node, "body", [])
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        if owner.startswith("_"):
            continue
        for each in members:
            if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
                yield owner + each.name, each


def without_shape(source: str) -> list[str]:
    """Documented public functions of a module that take or return arrays and state no shape."""
    found = []
    for name, function in functions(ast.parse(source)):
        arguments = [*function.args.args, *function.args.kwonlyargs]
        annotations = [each.annotation for each in arguments if each.annotation]
        annotations += [function.returns] if function.returns else []
        document = ast.get_docstring(function)
        on_arrays = any(ARRAY.search(ast.unparse(each)) for each in annotations)
        if document is not None and on_arrays and not SHAPE.search(document):
            found.append(name)
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_on_arrays_state_shapes(path: Path) -> None:
    assert without_shape(path.read_text(encoding="utf-8")) == []


def test_a_function_without_a_shape_is_found() -> None:
    source = 'def total(matrix: Floats) -> Floats:\n    """{}"""\n'
    assert without_shape(source.format("The sum of all rows (as floats).")) == ["total"]
    assert without_shape(source.format("(k,) the sum of all rows.")) == []
