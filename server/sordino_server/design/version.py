"""Which planner this is: a plan that was kept is good only for the code that would make it again."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import sordino_shared

_SOLVERS = ("numpy", "scipy", "cvxpy")


@cache
def planner_version() -> str:
    """A digest of the source of the design and of the shared package, and of the versions of the solvers below them.

    So that nobody has to remember to count a number up, and an unreleased planner never answers for another one.
    """
    hashed = hashlib.sha256("".join(f"{name} {version(name)}\n" for name in _SOLVERS).encode())
    for package in (Path(__file__).parent, Path(sordino_shared.__file__).parent):
        for source in sorted(package.rglob("*.py")):
            hashed.update(hashlib.sha256(source.read_bytes()).digest())
    return hashed.hexdigest()
