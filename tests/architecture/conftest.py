"""The source as trees, once for all tests of its structure."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "shared/sordino_shared",
    "client/sordino_client",
    "shuffler/sordino_shuffler",
    "analysis/sordino_analysis",
    "migrations/sordino_migrations",
    "server/sordino_server",
)


@dataclass(frozen=True)
class Source:
    """One module of a distribution; `name` is its dotted name."""

    path: Path
    name: str

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def imports(self) -> set[tuple[str, str]]:
        """(module, name) of everything imported anywhere in it; name is empty for `import module`."""
        found: set[tuple[str, str]] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {(alias.name, "") for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found |= {(node.module or "", alias.name) for alias in node.names}
        return found


def _source(package: Path, path: Path) -> Source:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return Source(path, ".".join(parts).removesuffix(".__init__"))


@pytest.fixture(scope="session")
def sources() -> list[Source]:
    """Every module of the distributions, migrations left out: they are history."""
    folders = [ROOT / package for package in PACKAGES]
    found = [_source(folder, path) for folder in folders for path in sorted(folder.rglob("*.py"))]
    return [source for source in found if "migrations" not in source.path.parts]
