"""Where a kind of question, or a module of a higher floor, is named by hand."""

from __future__ import annotations

import re

from benchmarks.structure.tree import Module, Tree

# A module given as text, as in "sordino_server.jobs.worker:run".
_MODULE = re.compile(r"^sordino_[a-z]+(\.[a-z_]+)+(:\w+)?$")
# Programs name what is loaded ahead of forks: they stand above everything.
_PROGRAMS = ("sordino_server.serving", "sordino_server.jobs")
_KINDS = ("linear", "concepts", "pairwise", "series", "release")


def modules_that_name_concepts(tree: Tree) -> list[str]:
    """Modules of the server, with its commands, in which the word concept stands, in a string or a name."""
    return [module.name for module in tree.of("sordino_server") if re.search("concept", _code(module), re.IGNORECASE)]


def module_strings(tree: Tree) -> list[str]:
    """Strings that name a module of the product, outside the programs that preload.

    A distribution's own `__init__` names what it exports at first use: that is no higher floor.
    """
    programs = {module.name for module in tree.of(*_PROGRAMS)}
    return [
        f"{module.name}: {text}"
        for module in tree.product
        if module.name not in programs and "." in module.name
        for text in module.strings
        if _MODULE.match(text) and text.split(":")[0] != module.name
    ]


def kinds_told_by_hand(tree: Tree) -> list[str]:
    """Modules of the server that compare a field with the name of a kind, or look which fields a document has."""
    kinds = "|".join(_KINDS)
    sniff = re.compile(rf"""== ["']({kinds})["']|["'](protocol|forms|rules)["'] in \w+""")
    return [module.name for module in tree.of("sordino_server") if sniff.search(_code(module))]


def _code(module: Module) -> str:
    """The text without comments and without docstrings of the module itself."""
    without = re.sub(r'"""[\s\S]*?"""', "", module.text)
    return re.sub(r"#.*", "", without)
