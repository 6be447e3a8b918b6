"""Progress knows how far the best so far is from its bound."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sordino_analysis
import sordino_server
from sordino_analysis.progress import Progress, progress_of_part

SOURCES = [Path(str(package.__file__)).parent for package in (sordino_analysis, sordino_server)]


def test_the_ratio_needs_a_variance_and_a_bound_above_zero():
    assert Progress(0.5, "searching", 3.0, 2.0).ratio == pytest.approx(1.5)
    assert Progress(0.5, "searching", 3.0).ratio is None
    assert Progress(0.5, "searching", bound=2.0).ratio is None
    assert Progress(0.5, "searching", 3.0, 0.0).ratio is None


def test_a_part_reports_as_part_of_the_whole():
    told: list[Progress] = []
    inner = progress_of_part(progress_of_part(told.append, 0.5, 0.5), 0.2, 0.4)
    inner(Progress(0.5, "searching", 3.0))
    assert told == [Progress(pytest.approx(0.7), "searching", 3.0)]


def test_progress_is_defined_once():
    assert {(name, path.name) for path, name in _definitions()} == {
        ("Progress", "progress.py"),
        ("ProgressCallback", "progress.py"),
    }


def _definitions() -> Iterator[tuple[Path, str]]:
    """Classes and aliases at the top of a module that have the value's or the callback's name."""
    for path in (path for folder in SOURCES for path in folder.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            else:
                continue
            yield from ((path, name) for name in names if name.strip("_") in ("Progress", "ProgressCallback"))
