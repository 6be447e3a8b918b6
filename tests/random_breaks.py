"""Breaks of random lines of the packages, and whether a test notices each.

`python -m tests.random_breaks [--seed 28] [--breaks 24]` copies the packages, changes one operator, constant or
statement of the copy and runs tests on it: first those of the module's folder and those that import the module, then
those that import a module which does, until one fails; those of the distribution where there are none. What no test
notices is printed at the end: it is a hole, or a change that means the same. More than one is a failure.

`--seed 28` at 62b725f0 chose 24 breaks, of which today's tests notice 23; the constant that the last one changed is
gone from `aggregates/log_pool.py`. Five of the 23 have a test since then: those of `cli/simulate.py`, `queries.py`,
`collecting/mirroring.py`, `answers/columns.py` and `planning/comparison.py`.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.seeded_faults import DISTRIBUTIONS, ROOT, run_tests

ALL_PASSED, NO_TESTS = 0, 5
MOST_SURVIVORS = 1
_COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_COMPUTED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "+", ast.Pow: "*"}
# What says the same in other words, what is there for people alone, and what no test can see from outside.
_LEFT_ALONE = ("__main__.py", "tuning.py", "logs.py")


@dataclass(frozen=True)
class Break:
    """`new` in place of columns `start` to `end` of a line of `file`."""

    file: str
    line: int
    start: int
    end: int
    new: str

    def broken(self, text: str) -> str:
        """The text of the file with the break; columns count bytes, as Python's parser does."""
        lines = text.split("\n")
        line = lines[self.line - 1].encode()
        lines[self.line - 1] = (line[: self.start] + self.new.encode() + line[self.end :]).decode()
        return "\n".join(lines)

    def plant(self, folder: Path) -> None:
        """Change the copy of the packages in `folder`."""
        path = folder / self.file
        path.write_text(self.broken(path.read_text(encoding="utf-8")), encoding="utf-8")

    def __str__(self) -> str:
        line = (ROOT / self.file).read_text(encoding="utf-8").split("\n")[self.line - 1].encode()
        was = line[self.start : self.end].decode()
        return f"{self.file}:{self.line}: {was!r} → {self.new!r} in {line.decode().strip()}"


def modules() -> list[str]:
    """Every file of the packages, in an order that does not depend on the machine."""
    found = (path for name in DISTRIBUTIONS for path in (ROOT / name / f"sordino_{name}").rglob("*.py"))
    return sorted(str(path.relative_to(ROOT)) for path in found if path.name not in _LEFT_ALONE)


def breaks_of(file: str) -> list[Break]:
    """Every break that a file allows, inside functions: what stands at its top is often a tuned number."""
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = [line.encode() for line in text.split("\n")]
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    nodes = {id(node): node for function in functions for part in function.body for node in ast.walk(part)}
    found = (Break(file, *place) for node in nodes.values() for place in _places(node, lines))
    return sorted({each for each in found if _still_parses(each, text)}, key=lambda each: (each.line, each.start))


def _places(node: ast.AST, lines: list[bytes]) -> Iterator[tuple[int, int, int, str]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _between(node.left, node.comparators[0], _COMPARED.get(type(node.ops[0])))
    elif isinstance(node, ast.BinOp):
        yield from _between(node.left, node.right, _COMPUTED.get(type(node.op)))
    elif isinstance(node, ast.BoolOp):
        other = "or" if isinstance(node.op, ast.And) else "and"
        yield from _between(node.values[0], node.values[1], other)
    elif isinstance(node, ast.Constant) and type(node.value) in (bool, int) and node.lineno == node.end_lineno:
        new = str(not node.value) if isinstance(node.value, bool) else str(node.value + 1)
        yield node.lineno, node.col_offset, node.end_col_offset or 0, new
    elif isinstance(node, ast.Raise | ast.Expr) and node.lineno == node.end_lineno and not _is_text(node):
        yield node.lineno, node.col_offset, len(lines[node.lineno - 1]), "pass"


def _between(left: ast.expr, right: ast.expr, new: str | None) -> Iterator[tuple[int, int, int, str]]:
    if new is not None and left.end_lineno == right.lineno:
        yield right.lineno, left.end_col_offset or 0, right.col_offset, f" {new} "


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _still_parses(each: Break, text: str) -> bool:
    """Brackets between two operands do not survive the change of what stands between them."""
    try:
        ast.parse(each.broken(text))
    except SyntaxError:
        return False
    return each.broken(text) != text


def chosen(seed: int, count: int) -> list[Break]:
    """So many breaks, each of a file of its own; long files are chosen more often."""
    source, files = random.Random(seed), modules()
    weights = [len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in files]
    found: dict[str, Break] = {}
    while len(found) < count:
        (file,) = source.choices(files, weights)
        if file not in found and (possible := breaks_of(file)):
            found[file] = source.choice(possible)
    return list(found.values())


def dotted(file: str) -> str:
    """`sordino_server.rounds.repository` of its file."""
    return ".".join(Path(file).with_suffix("").parts[1:]).removesuffix(".__init__")


def stages_of_tests(file: str) -> Iterator[tuple[str, ...]]:
    """Tests that look at the module itself, then those that look at modules which import it; each file once."""
    tests = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    ours = {each: (ROOT / each).read_text(encoding="utf-8") for each in modules()}
    first = [test for test, text in tests.items() if _imports(text, file)]
    first += [test for test in tests if Path(test).parent == _mirrored(file)]
    if file.startswith("migrations/"):
        # Nobody imports one: Alembic runs it.
        first += [test for test in tests if "migration" in Path(test).stem]
    importers = [each for each, text in ours.items() if _imports(text, file)]
    second = [test for test, text in tests.items() if any(_imports(text, each) for each in importers)]
    second += [test for test in tests if Path(test).parent in {_mirrored(each) for each in importers}]
    yield tuple(dict.fromkeys(sorted(first)))
    yield tuple(dict.fromkeys(each for each in sorted(second) if each not in first))
    if not first and not second:
        # Started by its name in a process of its own: the tests of its distribution run it.
        yield tuple(sorted(test for test in tests if Path(test).parts[1] == Path(file).parts[0]))


def _mirrored(file: str) -> Path:
    """`tests/server/rounds` of a module of `server/sordino_server/rounds`."""
    distribution, _, *folders, _ = Path(file).parts
    return Path("tests", distribution, *folders)


def _imports(text: str, file: str) -> bool:
    package, _, name = dotted(file).rpartition(".")
    pattern = rf"(import {re.escape(dotted(file))}\b)|(from {re.escape(dotted(file))} import)"
    return bool(re.search(rf"{pattern}|(from {re.escape(package)} import [^(\n]*\b{name}\b)", text))


def is_noticed(each: Break) -> bool:
    """Whether a test fails with the break that passes without it."""
    return any(_a_test_fails(each, tests) for tests in stages_of_tests(each.file) if tests)


def _a_test_fails(each: Break, tests: tuple[str, ...]) -> bool:
    ignored: tuple[str, ...] = ()
    while True:
        done = run_tests((*tests, *ignored), each)
        if done.returncode in (ALL_PASSED, NO_TESTS):
            return False
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        if not failed or run_tests(tuple(failed)).returncode in (ALL_PASSED, NO_TESTS):
            return True
        # They fail without the break, too.
        ignored += tuple(f"--deselect={name}" for name in failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=28, help="another seed chooses other breaks")
    parser.add_argument("--breaks", type=int, default=24, help="how many")
    given = parser.parse_args()
    survivors = []
    for each in chosen(given.seed, given.breaks):
        noticed = is_noticed(each)
        survivors += [] if noticed else [each]
        print(f"{'noticed' if noticed else 'MISSED':9}{each}", flush=True)
    print(f"{len(survivors)} of {given.breaks} breaks were missed; at most {MOST_SURVIVORS} may be")
    return int(len(survivors) > MOST_SURVIVORS)


if __name__ == "__main__":
    sys.exit(main())
