"""Every error code: problems of the HTTP API, and errors of the Python packages, with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import sordino_analysis
import sordino_client
import sordino_shuffler
from docs.site.reference.markdown import plain, table
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import Problem

_LEAD = """A response with an error is a problem document (RFC 9457) whose `type` is `/problems/` and a name of
the first table. An error of Python has a `code`, which never changes, and `advice`. [Errors of the SDK](../errors.md)
says more of those that an app meets."""


def pages() -> dict[str, str]:
    """The page of all error codes; each has an anchor of its own."""
    problems = [(anchored(each.slug, "problem-"), str(each.status), plain(each.title)) for each in Problem]
    errors = [(anchored(each.code), f"`{each.__name__}`", plain(each.advice)) for each in errors_of_python()]
    lines = ["# Error codes", "", _LEAD, "", "## HTTP", "", *table(("type", "status", "title"), problems)]
    return {"problems.md": "\n".join([*lines, "## Python", "", *table(("code", "class", "advice"), errors)])}


def anchored(code: str, prefix: str = "") -> str:
    """A code that a link can point at: `problems.html#problem-not-found`."""
    return f'<span id="{prefix}{code}"></span>`{code}`'


def errors_of_python() -> list[type[SordinoError]]:
    """Every class of error that the packages an analyst or an app imports can raise, one for each code."""
    for package in (sordino_analysis, sordino_client, sordino_shuffler):
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            if module.name.endswith("errors"):
                import_module(module.name)
    for name in sordino_analysis.__all__:
        getattr(sordino_analysis, name)
    by_code: dict[str, type[SordinoError]] = {}
    for each in _below(SordinoError):
        by_code.setdefault(each.code, each)
    return [by_code[code] for code in sorted(by_code)]


def _below(parent: type[SordinoError]) -> Iterator[type[SordinoError]]:
    yield parent
    for each in parent.__subclasses__():
        if each.__module__.startswith("sordino_"):
            yield from _below(each)
