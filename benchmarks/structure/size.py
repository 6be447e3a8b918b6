"""How much there is: lines, files, the length of functions, and lines by distribution."""

from __future__ import annotations

import ast
import statistics

from benchmarks.structure.tree import Module, Tree


def lines(tree: Tree) -> int:
    return sum(module.lines for module in tree.product)


def files(tree: Tree) -> int:
    return len(tree.product)


def lines_by_distribution(tree: Tree) -> dict[str, int]:
    totals: dict[str, int] = {}
    for module in tree.product:
        totals[module.name.split(".")[0]] = totals.get(module.name.split(".")[0], 0) + module.lines
    return totals


def function_lines(tree: Tree) -> tuple[int, int, int]:
    """Median, 95th percentile and longest of all functions, in lines."""
    lengths = sorted(length for module in tree.product for length in _lengths(module))
    return round(statistics.median(lengths)), lengths[int(0.95 * len(lengths))], lengths[-1]


def _lengths(module: Module) -> list[int]:
    return [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(module.tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
