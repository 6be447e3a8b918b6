"""Docstrings of public functions: a shape such as (Q, k) where they take or return arrays, and the errors they raise.

A function without a docstring overrides one that has it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

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
    tree = ast.parse(source)
    if any(isinstance(node, ast.ImportFrom) and node.module == "sordino_shared.domains" for node in tree.body):
        array = re.compile(ARRAY.pattern.replace("Integers|", ""))  # there `Integers` is an attribute of a domain
    else:
        array = ARRAY
    for name, function in functions(tree):
        arguments = [*function.args.args, *function.args.kwonlyargs]
        annotations = [each.annotation for each in arguments if each.annotation]
        annotations += [function.returns] if function.returns else []
        document = ast.get_docstring(function)
        on_arrays = any(array.search(ast.unparse(each)) for each in annotations)
        if document is not None and on_arrays and not SHAPE.search(document):
            found.append(name)
    return found


def findings(check: Callable[[str], list[str]]) -> dict[str, list[str]]:
    """What `check` finds wrong, by module."""
    found = {path: check(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}
    assert len(found) > 200
    return {str(path.relative_to(ROOT)): wrong for path, wrong in found.items() if wrong}


def without_errors(source: str) -> list[str]:
    """Documented public functions of a module that raise an error themselves and do not say so."""
    found = []
    for name, function in functions(ast.parse(source)):
        document = ast.get_docstring(function)
        raised = [node.exc for node in ast.walk(function) if isinstance(node, ast.Raise) and node.exc is not None]
        errors = {ast.unparse(each.func if isinstance(each, ast.Call) else each) for each in raised}
        if document is not None and errors - {"StopIteration"} and "raise" not in document.lower():
            found.append(name)
    return found


def test_functions_on_arrays_state_shapes() -> None:
    assert findings(without_shape) == {}


def test_a_function_without_a_shape_is_found() -> None:
    source = 'def total(matrix: Floats) -> Floats:\n    """{}"""\n'
    assert without_shape(source.format("The sum of all rows (as floats).")) == ["total"]
    assert without_shape(source.format("(k,) the sum of all rows.")) == []


def test_functions_state_the_errors_that_they_raise() -> None:
    assert findings(without_errors) == {}


def test_a_function_with_an_error_of_its_own_is_found() -> None:
    source = 'def root(x: float) -> float:\n    """{}"""\n    if x < 0:\n        raise InvalidValue("negative", x)\n'
    assert without_errors(source.format("√x.")) == ["root"]
    assert without_errors(source.format("√x; raises InvalidValue for x < 0.")) == []


# The results of papers that the code rests on, as the papers number them.
RESULTS = {
    "Ghazi": {"Lemma 11", "Lemma 12", "Theorem 14", "Lemma 17", "Theorem 19", "Theorem 24"},
    "Edmonds": {"Lemma 9", "Theorem 10", "Lemma 12", "Theorem 24"},
    "Aldà": {"Theorem 3", "Lemma 8", "Lemma 9", "Theorem 7", "Theorem 8", "Theorem 9"},
    "Hoeffding": {"Theorem 4"},
    "Talwar and Zhang": {"Lemma 1", "Theorem 1", "Theorem 4"},
    # Numbered by section: Theorems 1.3 and 5.1, Lemmas 3.1, 4.3, 6.1 and 8.1.
    "Nikolov 2022": {"Theorem 1", "Theorem 5", "Lemma 3", "Lemma 4", "Lemma 6", "Lemma 8"},
    "McSherry 2012": {"Theorem 2"},
}
CITED = re.compile(r"(?:Theorem|Lemma|Proposition|Corollary) \d+")


def without_source(source: str) -> list[str]:
    """Results that a module cites by number and that no paper it names has."""
    known = set().union(*(results for author, results in RESULTS.items() if author in source))
    return sorted(set(CITED.findall(source)) - known)


def test_results_are_cited_with_their_paper() -> None:
    assert findings(without_source) == {}


def test_a_result_without_a_paper_is_found() -> None:
    assert without_source("By Lemma 12.") == ["Lemma 12"]
    assert without_source("By Lemma 13 of Ghazi et al.") == ["Lemma 13"]
    assert without_source("By Lemma 12 of Ghazi et al.") == []
