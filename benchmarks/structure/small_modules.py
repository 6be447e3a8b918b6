"""`python -m benchmarks.structure.small_modules`: modules that one other module alone needs, and lines of imports.

A module is *small* below 80 lines. Its importers are the product's modules that import it or a name of it, anywhere in
their text; a name that a package passes on counts for every module that imports it from the package, or reads it as
`package.name`. A command's module is imported by the package of the commands, which finds it by name.
Header lines are the lines of a module up to its last import.
"""

from __future__ import annotations

import argparse
import ast
import json
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.structure.tree import DISTRIBUTIONS, ROOT, Module
from sordino_server.cli import COMMANDS

SMALL = 80
# A module that needs so many small ones lists them: mechanisms, routes, commands.
_REGISTER = 5
_CLI = "sordino_server.cli"


class ImportingModule(Module):
    """A module with what it imports."""

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def header(self) -> int:
        """Lines from the first to the end of the last import at the top of the module."""
        ends = [node.end_lineno or 0 for node in self.tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        return max(ends, default=0)

    def is_started(self, scripts: Collection[str]) -> bool:
        """Whether Python, Alembic or a command starts it, or it is a package."""
        by_name = self.path.stem in ("__main__", "env") or 'if __name__ == "__main__"' in self.text
        return self.is_package or by_name or self.name in scripts

    def imports(self) -> Iterator[tuple[str, str]]:
        """(module, name) of everything that is imported; the name is empty for a whole module."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node)
                for alias in node.names:
                    yield base, alias.name
                    yield from ((f"{base}.{alias.name}", read) for read in self._read_of(alias.asname or alias.name))

    def _read_of(self, name: str) -> set[str]:
        """What the module reads of a name: `purge` of `aggregates.purge`."""
        return {attribute for owner, attribute in self._attributes if owner == name}

    @cached_property
    def _attributes(self) -> set[tuple[str, str]]:
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)]
        return {(node.value.id, node.attr) for node in nodes if isinstance(node.value, ast.Name)}

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        kept = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*kept, *filter(None, [node.module])])


@dataclass(frozen=True)
class Counts:
    """Of one checkout; `small` has each small module with its one importer, `unused` what no product module needs."""

    modules: int
    lines: int
    header_lines: int
    small: Mapping[str, str]
    unused: list[str]


def product(root: Path = ROOT) -> dict[str, ImportingModule]:
    """Every module of the distributions by name; migrations' versions are history."""
    found = {}
    for distribution in DISTRIBUTIONS:
        for path in sorted((root / distribution).glob("sordino_*/**/*.py")):
            if "versions" in path.parts:
                continue
            parts = path.relative_to(root / distribution).with_suffix("").parts
            name = ".".join(parts).removesuffix(".__init__")
            found[name] = ImportingModule(path, name)
    return found


def importers(modules: Mapping[str, ImportingModule]) -> dict[str, set[str]]:
    """The modules that need each module."""
    passed = {name: _passed_on(module, modules) for name, module in modules.items() if module.is_package}
    found: dict[str, set[str]] = {name: set() for name in modules}
    for name, own in passed.items():
        if "." not in name:
            # What a distribution's package passes on is for its users.
            for public, module in own.items():
                found[_home(module, public, modules, passed) or module].add(name)
    for importer in modules.values():
        # A package that passes a name on needs nothing itself.
        own = passed.get(importer.name, {})
        for module, name in importer.imports():
            meant = _home(module, name, modules, passed)
            if meant is not None and meant != importer.name and own.get(name) != meant:
                found[meant].add(importer.name)
    for name in COMMANDS:
        found[f"{_CLI}.{name.replace('-', '_')}"].add(_CLI)
    return found


def _passed_on(package: ImportingModule, modules: Mapping[str, ImportingModule]) -> dict[str, str]:
    """The names that a package's `__all__` passes on, each with the module that it comes from."""
    listed = {
        element.value
        for node in package.tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for element in ast.walk(node.value)
        if isinstance(element, ast.Constant)
    }
    return {name: module for module, name in package.imports() if name in listed and module in modules}


def _home(
    module: str, name: str, modules: Mapping[str, ImportingModule], passed: Mapping[str, Mapping[str, str]]
) -> str | None:
    """The module that an import is of; None for one that is none of the product's, or reads an attribute."""
    while name in passed.get(module, {}):
        module = passed[module][name]
    if name and f"{module}.{name}" in modules:
        return f"{module}.{name}"
    return module if module in modules else None


def entry_points(root: Path = ROOT) -> set[str]:
    """Modules that a command or a tool starts."""
    found = set()
    for distribution in DISTRIBUTIONS:
        project = root / distribution / "pyproject.toml"
        if project.exists():
            content = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
            found |= {target.partition(":")[0] for target in content.get("scripts", {}).values()}
    return found


def count(root: Path = ROOT) -> Counts:
    """The counts of a checkout."""
    modules = product(root)
    needed = importers(modules)
    started = entry_points(root)
    small = {
        name: next(iter(needed[name]))
        for name, module in modules.items()
        if not module.is_package and module.lines < SMALL and len(needed[name]) == 1
    }
    unused = [name for name, module in modules.items() if not needed[name] and not module.is_started(started)]
    return Counts(
        modules=len(modules),
        lines=sum(module.lines for module in modules.values()),
        header_lines=sum(module.header for module in modules.values()),
        small=small,
        unused=unused,
    )


def main() -> None:
    """Print the counts; with `--list` also the modules."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--list", action="store_true", help="print each module as well")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to count; default: this one")
    options = parser.parse_args()
    counts = count(options.root)
    if options.json:
        print(json.dumps(asdict(counts), indent=1))
        return
    print(f"{counts.modules} modules, {counts.lines} lines, of which {counts.header_lines} up to the last import")
    registers = {name: count for name, count in Counter(counts.small.values()).items() if count >= _REGISTER}
    registered = ", ".join(f"{count} in {name}" for name, count in registers.items())
    print(f"{len(counts.small)} modules below {SMALL} lines have one importer: {registered}")
    for name, importer in counts.small.items() if options.list else ():
        print(f"  {name} <- {importer}")
    print(f"{len(counts.unused)} modules are imported by no module of the product")
    for name in counts.unused if options.list else ():
        print(f"  {name}")


if __name__ == "__main__":
    main()
