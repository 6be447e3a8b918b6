"""A plan that was kept is no answer once a file or a library that it depends on has changed."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sordino_analysis.planning import planning_request
from sordino_analysis.planning.planning_request import (
    OTHER_ROOMS,
    PLAN_LIBRARIES,
    PLAN_PACKAGES,
    package_folder,
    planner_version,
)

ASKED = f"from {planning_request.__name__} import planner_version; print(planner_version())"
ROOTS = sorted({package.partition(".")[0] for package in PLAN_PACKAGES})
# Write and read results and add up archives, of which no plan is made.
OF_RESULTS = {"pyarrow", "pyspark", "py4j", "cryptography"}
# Turns an error of validation into a sentence: no plan comes from it.
MESSAGES = "sordino_analysis.validation_messages"
DISTRIBUTIONS = importlib.metadata.packages_distributions()


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with a copy of the distributions, to be changed at will."""
    for root in ROOTS:
        shutil.copytree(package_folder(root), tmp_path / root, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def version_of(copy: Path) -> str:
    """What a fresh process that runs the copy says."""
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", ASKED], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def version_here(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """What a fresh process that runs the copy would say, without its start."""
    monkeypatch.setattr(planning_request, "package_folder", lambda package: copied.joinpath(*package.split(".")))
    return planner_version.__wrapped__


def test_one_changed_file_of_any_room_makes_another_planner(copied: Path, version_here: Callable[[], str]) -> None:
    before = version_of(copied)
    assert version_here() == before, "the same files are the same planner"
    folders = [path for package in PLAN_PACKAGES for path in sorted((copied / package).iterdir()) if path.is_dir()]
    rooms = [folder for folder in folders if folder.name not in OTHER_ROOMS]
    assert len(rooms) >= 8
    for room in rooms:
        deepest = max(room.rglob("*.py"), key=lambda path: (len(path.parts), path))
        kept = deepest.read_bytes()
        deepest.write_bytes(kept + b"\n")
        assert version_here() != before, room.name
        deepest.write_bytes(kept)
    assert version_here() == before


def test_a_changed_table_makes_another_planner(copied: Path, version_here: Callable[[], str]) -> None:
    before = version_here()
    table = next((copied / "sordino_shared").rglob("*.bin"))
    table.write_bytes(table.read_bytes()[:-1] + b"\0")
    assert version_here() != before


def test_what_no_plan_depends_on_changes_nothing(copied: Path) -> None:
    before = version_of(copied)
    (copied / "sordino_analysis" / "charts" / "svg.py").write_text("")
    assert version_of(copied) == before


@pytest.fixture
def fresh() -> Iterator[Callable[[], str]]:
    """planner_version as a process finds it that asks for the first time."""
    planner_version.cache_clear()
    yield planner_version.__wrapped__
    planner_version.cache_clear()


@pytest.mark.parametrize("library", PLAN_LIBRARIES)
def test_another_version_of_a_library_makes_another_planner(
    monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], str], library: str
) -> None:
    before = fresh()
    real = importlib.metadata.version
    monkeypatch.setattr(planning_request, "version", lambda name: real(name) + (".post1" if name == library else ""))
    assert fresh() != before


def imported() -> Iterator[tuple[Path, str]]:
    """Every module that a file of PLAN_PACKAGES imports, wherever in the file it does."""
    for package in PLAN_PACKAGES:
        for path in package_folder(package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from ((path, alias.name) for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    yield path, str(node.module)


def test_the_lists_hold_whatever_their_code_imports() -> None:
    for path, module in imported():
        root = module.partition(".")[0]
        if root in sys.stdlib_module_names or module == MESSAGES or root in OF_RESULTS:
            continue
        if root in ROOTS:
            assert any(f"{module}.".startswith(f"{package}.") for package in PLAN_PACKAGES), (path, module)
        else:
            assert set(DISTRIBUTIONS[root]) & set(PLAN_LIBRARIES), (path, module)
