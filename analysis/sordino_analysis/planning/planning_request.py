"""What every kind of question offers: the server, the command line and notebooks plan all kinds through it."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, Self

from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import ProgressCallback
from sordino_shared.protocol import Digest

# All that decides which plan a request gets. A statistic's first round depends on its protocol and on how its reports
# are estimated, so all of analysis counts. A test compares the list with what the code imports.
PLAN_PACKAGES = ("sordino_shared", "sordino_analysis")
# Rooms of these that no plan comes from.
OTHER_ROOMS = frozenset({"analyst", "charts", "conformance"})
PLAN_LIBRARIES = ("numpy", "scipy", "clarabel", "threadpoolctl", "pydantic", "pydantic_core", "PyYAML")
Interrupted = Callable[[], bool]


def never() -> bool:
    """Nobody interrupts."""
    return False


class PlanningRequest(Protocol):
    """A question with its options. It can be pickled, and refuses at once what no plan can be made for."""

    @property
    def options(self) -> PlanningOptions: ...

    @property
    def digest(self) -> Digest:
        """Names all that the plan depends on, the planner's version included, but not how long it may take."""

    def compile(self, progress: ProgressCallback, interrupted: Interrupted = never) -> FinishedPlan:
        """The best plan within the time limit, or until `interrupted` is true; raises PlanError where there is none."""

    def with_time_limit(self, seconds: float) -> Self:
        """The same request with at most so many seconds."""


def request_digest(question: Digest, options: PlanningOptions, unused: Iterable[str]) -> Digest:
    """Of a question by the digest of its canonical text, and of all options but those that its kind has no use for."""
    content = {"planner": planner_version(), "question": str(question), **options.content(unused)}
    return Digest.of(json.dumps(content, sort_keys=True, allow_nan=False).encode())


@cache
def planner_version() -> str:
    """A SHA-256 digest, in hex, of every file of PLAN_PACKAGES and of the versions of Python and PLAN_LIBRARIES.

    So that nobody has to remember to count a number up, and an unreleased planner never answers for another one.
    """
    hashed = hashlib.sha256(f"python {platform.python_version()}\n".encode())
    hashed.update("".join(f"{name} {version(name)}\n" for name in PLAN_LIBRARIES).encode())
    for package in PLAN_PACKAGES:
        folder = package_folder(package)
        for source in _files(folder):
            content = hashlib.sha256(source.read_bytes()).hexdigest()
            hashed.update(f"{package} {source.relative_to(folder).as_posix()} {content}\n".encode())
    return hashed.hexdigest()


def package_folder(package: str) -> Path:
    """Where the files of an importable package are; raises ModuleNotFoundError for a package that is not there."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"plans depend on the package {package}, which is not installed", name=package)
    return Path(spec.submodule_search_locations[0])


def _files(folder: Path) -> Iterator[Path]:
    """Sources and tables, such as the atoms of the normal law, in a fixed order; not what Python compiled of them."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if path.is_file() and "__pycache__" not in inside and inside[0] not in OTHER_ROOMS:
            yield path
