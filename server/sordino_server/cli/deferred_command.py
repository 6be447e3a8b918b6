"""A command in the list of commands, which is imported once it is run: `sordino --help` imports none of them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from typer.core import TyperCommand


class DeferredCommand(TyperCommand):
    """Stands for the command `name` of `module` in lists; `load` imports the command when it gets its arguments."""

    def __init__(self, name: str, module: str, load: Callable[[], Any]) -> None:
        super().__init__(name, help=help_in_source(module, name.replace("-", "_")))
        self.load = load

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        return self.load().make_context(*arguments, **options)


def help_in_source(module: str, name: str) -> str | None:
    """The docstring of the function `name` in the module's source, or else the `help` of its `typer.Typer`."""
    found = find_spec(module)
    assert found is not None, f"there is no module {module}"
    assert found.origin is not None, f"{module} is a file"
    groups = []
    for node in ast.parse(Path(found.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return ast.get_docstring(node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            groups += [word.value for word in node.value.keywords if word.arg == "help"]
    return str(ast.literal_eval(groups[0])) if groups else None
