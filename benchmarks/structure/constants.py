"""`python -m benchmarks.structure.constants [--list] [--revision REV]`: numeric constants without a reason.

A number *tunes* where another one would give a correct program too: a threshold, a tolerance, a number of steps. These
do not:

* 0, ±1, 2 and ½; exponents, indices, digits of `round` and `figure`, and the numbers of annotations;
* operands of a formula: integers up to 128, ¼ and unit conversions in sums, products, logarithms and decimal places,
  the number of axes or members that `len(…)` or `.ndim` is compared with;
* bits of machine words and sizes of arrays: 8, 16, 32, 63, 64 and 2³², …, shapes, and lengths of `range` up to 8;
* 0.95 as the default of a `level`, the level of every interval; shares of a progress bar; coordinates of drawings: the
  package `charts`.

Names at the head of a module or class count once each, whatever table stands behind them, defaults of parameters once
each, and every other literal where it stands.

A constant *has a reason* where it is named and a comment directly above it or behind it, a string below it, or the
class's docstring, which has its name, says what it is for. Fields of a call `Field(…, description=…)` have theirs.
In the packages of searches and bounds that is not enough. There a comment, or the docstring of the table, also gives
the command `python -m benchmarks.…` that measured the value, and the command exists; in a `tuning.py` always, and
elsewhere but for four: limits (`MOST_…`, `LEAST_…`, `1 << n`, `10**n`), tolerances of rounding (`1e-n`), seeds and
numbers of a format (`…_SEED`, `…_BITS`, `…_BYTES`, `…_DIGITS`), and numbers of a theorem or of double precision that
the comment names. Modules of these packages that estimate, draw, check or state, and do not search, need a comment
alone.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.structure.tree import Module, Tree, checkout

ANALYSIS = "sordino_analysis"
SEARCHES = ("average_case", "curator", "mechanisms", "optimisation", "pairwise", "planning")
# They estimate, draw, check or state.
_STATING = (
    "average_case",
    "curator.audit",
    "curator.coins",
    "curator.noise",
    "curator.plan",
    "curator.shell_index",
    "curator.simulated_quantiles",
    "curator.usefulness",
    "pairwise.decoded_reports",
    "pairwise.drawn_campaigns",
    "pairwise.one_step",
    "pairwise.quadratic_error",
    "pairwise.ratios",
    "pairwise.statistic_estimate",
    "mechanisms.set_families",
    "pairwise.references",
    "pairwise.sealing",
    "planning.audit",
    "planning.blankets",
    "planning.plan_warnings",
)
_DRAWINGS = "charts"
_PLAIN = frozenset({0, 1, 2, 0.5})
_LARGEST_FACTOR = 128
# Exponents of 2 in `1 << n` and `2**n`, and bits of draws.
_WORDS = frozenset({8, 16, 32, 62, 63, 64, 255})
_LARGEST_SIDE = 8
_SHAPES = frozenset({"zeros", "ones", "empty", "full", "reshape", "range", "eye", "divmod"})
_UNITS = frozenset({0.25, 256, 1000, 1024, 3600, 86_400, 1e6, 1e9})
_FUNCTIONS = frozenset({"scaleb", "log", "log2", "exp", "expm1", "sqrt", "pow"})
_DIGITS = frozenset({"round", "figure"})
_PROGRESS = frozenset({"Progress", "progress_of_part"})
_LIMIT = re.compile(r"^-?(1 << \d+|2\*\*\d+|10\*\*\d+|1e-?\d+)( - 1)?$")
_LIMIT_NAME = re.compile(
    r"^_?(MAX|MOST|LEAST|LARGEST|LONGEST|SMALLEST|SHORTEST|FEWEST|FEW)_|_?(SEED|BITS|BYTES|BYTES_PER_TYPE|DIGITS)$"
)
_SOURCE = re.compile(r"Theorem|Lemma|double precision|progress")
_COMMAND = re.compile(r"python -m (benchmarks(?:\.\w+)+)")


@dataclass(frozen=True)
class Constant:
    """One constant that tunes: where it stands, its name or source, and whether it has a reason."""

    module: str
    line: int
    text: str
    reasoned: bool

    @property
    def is_of_search(self) -> bool:
        return self.module.split(".")[1] in SEARCHES


@dataclass(frozen=True)
class Counts:
    """Constants that tune, and those of them that have no reason."""

    constants: int
    unreasoned_in_searches: int
    unreasoned_elsewhere: int


def constants(tree: Tree) -> list[Constant]:
    """Every constant of the analysis that tunes."""
    modules = [module for module in tree.of(ANALYSIS) if module.name.split(".")[1:2] != [_DRAWINGS]]
    return [constant for module in modules if "." in module.name for constant in _Reader(module, tree.root).constants()]


def count(tree: Tree) -> Counts:
    """The numbers of constants."""
    every = constants(tree)
    missing = [constant for constant in every if not constant.reasoned]
    of_search = sum(constant.is_of_search for constant in missing)
    return Counts(len(every), of_search, len(missing) - of_search)


class _Reader:
    """Reads the constants of one module."""

    def __init__(self, module: Module, root: Path) -> None:
        self.module = module
        self.root = root
        self.lines = module.text.splitlines()
        self.parents = {child: node for node in ast.walk(module.tree) for child in ast.iter_child_nodes(node)}
        place = module.name.partition(".")[2]
        stating = any(f"{place}.".startswith(f"{name}.") for name in _STATING)
        self.needs_command = place.split(".")[0] in SEARCHES and not stating

    def constants(self) -> Iterator[Constant]:
        named = list(self._named())
        inside = {id(node) for _, value, _ in named for node in ast.walk(value)}
        for name, value, reasoned in named:
            if any(self._tunes(node) for node in ast.walk(value)):
                yield Constant(self.module.name, value.lineno, f"{name} = {ast.unparse(value)}", reasoned)
        for node in ast.walk(self.module.tree):
            if isinstance(node, ast.Constant) and id(node) not in inside and self._tunes(node):
                yield Constant(self.module.name, node.lineno, self.lines[node.lineno - 1].strip(), reasoned=False)

    def _named(self) -> Iterator[tuple[str, ast.expr, bool]]:
        """(name, value, whether it has a reason) of the constants at the head of the module and of its classes."""
        classes = [node for node in self.module.tree.body if isinstance(node, ast.ClassDef)]
        for owner in (self.module.tree, *classes):
            for statement, after in zip(owner.body, [*owner.body[1:], None], strict=True):
                for name, value in _definitions(statement):
                    yield name, value, self._has_reason(name, value, statement, after, owner)

    def _has_reason(
        self, name: str, value: ast.expr, statement: ast.stmt, after: ast.stmt | None, owner: ast.AST
    ) -> bool:
        reason = self._comment(statement) + _string(after) + _description(value)
        table = (ast.get_docstring(owner) or "") if isinstance(owner, ast.ClassDef) else ""
        if re.search(rf"`{re.escape(name)}`", table):
            reason += table
        if not reason:
            return False
        return not self.needs_command or self._is_forced(name, value, reason) or self._has_command(reason + table)

    def _is_forced(self, name: str, value: ast.expr, reason: str) -> bool:
        """Whether it is a limit, a tolerance, a seed or a number of a format or theorem, outside a table of tuning."""
        source = ast.get_source_segment(self.module.text, value) or ""
        forced = _LIMIT.match(source) or _LIMIT_NAME.search(name) or _SOURCE.search(reason)
        return bool(forced) and not self.module.name.endswith(".tuning")

    def _comment(self, statement: ast.stmt) -> str:
        """The comment above a statement and behind its last line."""
        start = statement.lineno - 1
        above = []
        while start and self.lines[start - 1].strip().startswith("#"):
            start -= 1
            above.append(self.lines[start].strip().removeprefix("#"))
        _, _, behind = self.lines[(statement.end_lineno or statement.lineno) - 1].partition("  # ")
        return "\n".join(reversed(above)) + behind

    def _has_command(self, text: str) -> bool:
        modules = [self.root / match.replace(".", "/") for match in _COMMAND.findall(" ".join(text.split()))]
        return any(path.with_suffix(".py").exists() or (path / "__main__.py").exists() for path in modules)

    def _tunes(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Constant) or type(node.value) not in (int, float) or node.value in _PLAIN:
            return False
        return not (id(node) in self._unread or self._is_operand(node, node.value))

    def _is_operand(self, node: ast.Constant, value: float) -> bool:
        """Whether it stands in a formula, and is no more than a factor, a summand or a unit there."""
        parent = self.parents[node]
        if isinstance(parent, ast.UnaryOp):
            parent = self.parents[parent]
        if isinstance(parent, ast.Compare):
            others = [other for other in (parent.left, *parent.comparators) if other is not node]
            return any(_is_length(other) for other in others)
        if isinstance(parent, (ast.Call, ast.Tuple)) and self._is_size(parent, value):
            return True
        if isinstance(parent, ast.Call):
            return _function(parent) in _FUNCTIONS
        if not isinstance(parent, ast.BinOp):
            return False
        other = parent.left if parent.right is node else parent.right
        if isinstance(other, ast.Constant) and other.value in (1, 2) and isinstance(parent.op, (ast.LShift, ast.Pow)):
            return value in _WORDS
        factor = float(value).is_integer() and value <= _LARGEST_FACTOR
        return (not isinstance(other, ast.Constant) and (factor or value in _UNITS)) or _is_fraction(parent, node)

    def _is_size(self, parent: ast.AST, value: float) -> bool:
        """Whether it is a side of an array, a short range, or the bits of a word."""
        call = self.parents[parent] if isinstance(parent, ast.Tuple) else parent
        if not isinstance(call, ast.Call):
            return False
        of_word = value in _WORDS and "bits" in _function(call) + "".join(map(ast.unparse, call.args))
        return of_word or (_function(call) in _SHAPES and type(value) is int and value <= _LARGEST_SIDE)

    @cached_property
    def _unread(self) -> set[int]:
        """The nodes inside exponents, indices, annotations and digits."""
        roots: list[ast.AST] = []
        for node in ast.walk(self.module.tree):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not isinstance(node.left, ast.Constant):
                roots.append(node.right)
            elif isinstance(node, ast.Subscript):
                roots.append(node.slice)
            elif isinstance(node, ast.arguments):
                roots += _levels(node)
            elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "level" and node.value is not None:
                roots += [node.value, node.annotation]
            elif isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
                roots.append(node.annotation)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
                roots.append(node.returns)
            elif isinstance(node, ast.Call) and _function(node) in _DIGITS | _PROGRESS:
                roots += node.args[1:] if _function(node) in _DIGITS else node.args
        return {id(inner) for root in roots for inner in ast.walk(root)}


def _definitions(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement defines, each with its value."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
        yield statement.target.id, statement.value
    elif isinstance(statement, ast.Assign):
        target, value = statement.targets[0], statement.value
        if isinstance(target, ast.Name):
            yield target.id, value
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield from zip(map(ast.unparse, target.elts), value.elts, strict=True)


def _string(statement: ast.stmt | None) -> str:
    """The text of a statement that is nothing but a string."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return statement.value.value if isinstance(statement.value.value, str) else ""
    return ""


def _description(value: ast.expr) -> str:
    """The description of a call `Field(…)`."""
    keywords = value.keywords if isinstance(value, ast.Call) and _function(value) == "Field" else []
    return "".join(ast.unparse(keyword.value) for keyword in keywords if keyword.arg == "description")


def _is_length(node: ast.expr) -> bool:
    return (isinstance(node, ast.Call) and _function(node) == "len") or (
        isinstance(node, ast.Attribute) and node.attr == "ndim"
    )


def _is_fraction(parent: ast.BinOp, node: ast.Constant) -> bool:
    """Whether it is a part of a quotient of two small integers, as 2/3."""
    parts = (parent.left, parent.right)
    small = [isinstance(part, ast.Constant) and isinstance(part.value, int) and part.value < 10 for part in parts]
    return isinstance(parent.op, ast.Div) and all(small) and node in parts


def _levels(arguments: ast.arguments) -> Iterator[ast.expr]:
    """The defaults of parameters `level`."""
    positional = [*arguments.posonlyargs, *arguments.args]
    given = zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
    for parameter, default in (*given, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
        if parameter.arg == "level" and default is not None:
            yield default


def _function(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print each constant that has no reason")
    parser.add_argument("--revision", help="a commit or branch; today's working tree without it")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    options = parser.parse_args()
    with checkout(options.revision) as tree:
        counts, every = count(tree), constants(tree)
    if options.json:
        print(json.dumps(vars(counts), indent=2))
        return
    print(
        f"{counts.constants} constants; without a reason {counts.unreasoned_in_searches} in searches and bounds, "
        f"{counts.unreasoned_elsewhere} elsewhere"
    )
    for constant in every if options.list else ():
        if not constant.reasoned:
            print(f"  {constant.module}:{constant.line}: {constant.text}")


if __name__ == "__main__":
    main()
