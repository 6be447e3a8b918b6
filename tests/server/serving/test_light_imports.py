"""Processes that plan nothing import no solver: the API, and `sordino --help`.

Seconds depend on the machine, so they are compared with those that the libraries take which both need anyway, in
processes started in turns; of each the least of three counts, which another process's load hardly moves.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SOLVERS = frozenset({"scipy", "cvxpy", "clarabel"})
LIBRARIES = "import fastapi, sqlalchemy.orm, numpy"
API = "import sordino_server.serving.app"
HELP = """
import contextlib, io
from sordino_server.cli import app
with contextlib.redirect_stdout(io.StringIO()) as printed:
    app(["--help"], standalone_mode=False)
assert "simulate" in printed.getvalue()
"""
# Not ru_maxrss, which begins at that of the process that forked this one.
MEASURE = """
import json, sys, time
modules = sorted({name.partition(".")[0] for name in sys.modules})
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([time.process_time(), peak / 1024, modules]))
"""
RUNS = 3


def measure(code: str) -> tuple[float, float, set[str]]:
    """Processor seconds, MiB and top-level modules of a process that runs `code`."""
    done = subprocess.run([sys.executable, "-c", code + "\n" + MEASURE], capture_output=True, text=True, check=True)
    seconds, mebibytes, modules = json.loads(done.stdout)
    return seconds, mebibytes, set(modules)


def times_as_long(code: str) -> float:
    """Least processor seconds of `code` over those of the libraries."""
    pairs = [(measure(code)[0], measure(LIBRARIES)[0]) for _ in range(RUNS)]
    mine, libraries = zip(*pairs, strict=True)
    return float(min(mine) / min(libraries))


def test_the_api_imports_no_solver_and_fits_into_100_mib() -> None:
    _, mebibytes, modules = measure(API)
    assert not SOLVERS & modules
    assert "sordino_analysis" in modules
    assert mebibytes <= 100


def test_the_api_is_imported_in_little_more_than_its_libraries() -> None:
    # 1.7 when this was written; with the planner 4.1.
    assert times_as_long(API) <= 2.3


def test_help_imports_neither_commands_nor_arrays() -> None:
    _, _, modules = measure(HELP)
    assert not modules & (SOLVERS | {"numpy", "sqlalchemy", "fastapi"})
    # 0.3 when this was written; with every command 4.3.
    assert times_as_long(HELP) <= 0.6


@pytest.mark.parametrize("module", ["sordino_server.estimates.next_step", "sordino_analysis.requests"])
def test_the_measure_notices_a_solver(module: str) -> None:
    assert measure(f"import {module}")[2] & SOLVERS


@pytest.mark.parametrize("module", ["sordino_server.cli.worker", "sordino_analysis.requests"])
def test_nothing_imports_the_modelling_library_before_a_mechanism_needs_it(module: str) -> None:
    """It takes as long to import as the rest of the planner; so does scipy.stats, which it imports."""
    code = f"import sys, {module}; print(sorted({{'cvxpy', 'scipy.stats'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
