"""The product's source at one revision, parsed once for all counts."""

from __future__ import annotations

import ast
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = ("shared", "client", "analysis", "migrations", "server", "shuffler")


@dataclass(frozen=True)
class Module:
    """One Python file of the product; `name` is its dotted name, without `.__init__`."""

    path: Path
    name: str

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def lines(self) -> int:
        return self.text.count("\n")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def package(self) -> str:
        """The package that its relative imports start from."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @cached_property
    def strings(self) -> list[str]:
        """Every string constant that is no docstring."""
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        return [
            node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        ]


@dataclass(frozen=True)
class Tree:
    """A checkout of the repository: its product modules, and the modules of its tests and benchmarks."""

    root: Path

    @cached_property
    def product(self) -> list[Module]:
        """Modules of all distributions. Migrations count as well: a wheel brings them."""
        return [module for name in DISTRIBUTIONS for module in _modules(self.root / name)]

    @cached_property
    def outside(self) -> list[Module]:
        return [module for name in ("tests", "benchmarks", "examples") for module in _modules(self.root / name)]

    def of(self, *packages: str) -> list[Module]:
        """The product modules in these packages, given by dotted name."""
        return [m for m in self.product if any(m.name == p or m.name.startswith(f"{p}.") for p in packages)]


def _modules(folder: Path) -> list[Module]:
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if not any(part.startswith(".") or part == "node_modules" for part in parts):
            found.append(Module(path, ".".join(parts).removesuffix(".__init__")))
    return found


@contextmanager
def checkout(revision: str | None) -> Iterator[Tree]:
    """The working tree, or a revision of it in a folder that goes with the context.

    Raises:
        subprocess.CalledProcessError: Git does not know the revision.
    """
    if revision is None:
        yield Tree(ROOT)
        return
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
        yield Tree(Path(folder))
