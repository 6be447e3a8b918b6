"""Processes import what they need: no solver unless they plan, no web framework unless they serve.

Seconds depend on what else a machine does, so function calls are counted, and compared with those that the libraries
take which both need anyway: every run of a process makes the same.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SOLVERS = frozenset({"scipy", "cvxpy", "clarabel"})
LIBRARIES = "import fastapi, sqlalchemy.orm, numpy"
API = "import sordino_server.serving.app"
SERVE = "import sordino_server.cli.serve"
WORKER = "import sordino_server.cli.worker"
CAMPAIGNS = "import sordino_server.cli.campaigns"
PLANNER = (
    "import sordino_server.jobs.planning_process, sordino_analysis.requests, sordino_analysis.planning.linear_request"
)
HELP = """
import contextlib, io
from sordino_server.cli import app
with contextlib.redirect_stdout(io.StringIO()) as printed:
    app(["--help"], standalone_mode=False)
assert "simulate" in printed.getvalue()
"""
COUNT = """
import itertools, sys
_calls = itertools.count()
sys.setprofile(lambda *event: next(_calls))
"""
# Not ru_maxrss, which begins at that of the process that forked this one.
MEASURE = """
sys.setprofile(None)
import json
modules = sorted({name.partition(".")[0] for name in sys.modules})
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([next(_calls), peak / 1024, modules]))
"""


def measure(code: str) -> tuple[int, float, set[str]]:
    """Calls and returns of functions, MiB and top-level modules of a process that runs `code`."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT + code + "\n" + MEASURE], capture_output=True, text=True, check=True
    )
    calls, mebibytes, modules = json.loads(done.stdout)
    return calls, mebibytes, set(modules)


@pytest.fixture(scope="module")
def of_the_libraries() -> int:
    """Calls of a process that imports the libraries."""
    return measure(LIBRARIES)[0]


def test_the_api_imports_little_more_than_its_libraries_and_fits_into_102_mib(of_the_libraries: int) -> None:
    calls, mebibytes, modules = measure(API)
    assert not SOLVERS & modules
    assert "sordino_analysis" in modules
    assert not {"yaml", "httpx", "rich"} & modules
    # 100.8, of which cards, strings, the public log, people, tokens, findings and shared results take 5.6.
    assert mebibytes <= 102
    # 2.63 with questions, strings, experiments, accounts, people, the log, tokens, shared results; the planner 3.1.
    assert calls <= 2.68 * of_the_libraries


@pytest.mark.parametrize(
    ("code", "without", "most"),
    [
        (
            SERVE,
            SOLVERS | {"httpx"},
            2.79,
        ),  # 2.72 with strings, batches, kinds of answers, experiments, the log, tokens, shared results, tiles
        (WORKER, SOLVERS | {"httpx", "fastapi"}, 1.70),  # 1.66, with the mathematics of its jobs 2.8
        (CAMPAIGNS, SOLVERS | {"fastapi", "sqlalchemy", "structlog"}, 0.75),  # 0.43, with the audit of plans 1.6
        (PLANNER, {"cvxpy", "fastapi", "sqlalchemy", "httpx"}, 1.92),  # 1.90 in a new clone, with cvxpy 3.2
    ],
    ids=["serve", "worker", "campaigns", "planner"],
)
def test_other_processes_import_only_what_they_need(
    of_the_libraries: int, code: str, without: set[str], most: float
) -> None:
    calls, _, modules = measure(code)
    assert not without & modules
    assert calls <= most * of_the_libraries


def test_help_imports_neither_commands_nor_arrays(of_the_libraries: int) -> None:
    calls, _, modules = measure(HELP)
    assert not modules & (SOLVERS | {"numpy", "sqlalchemy", "fastapi"})
    # 0.3 when this was written; with every command 2.9.
    assert calls <= 0.5 * of_the_libraries


@pytest.mark.parametrize(
    "module",
    [
        "sordino_analysis.kinds.linear_document",
        pytest.param("sordino_analysis.planning.linear_request", marks=pytest.mark.slow),
    ],
)
def test_the_measure_notices_a_solver(module: str, of_the_libraries: int) -> None:
    calls, _, modules = measure(f"{API}, {module}")
    assert modules & SOLVERS
    assert calls > 2.6 * of_the_libraries


CONE_PROGRAM = """
import numpy as np
from sordino_analysis.optimisation.search.cone_program import all_sets, solve_cone_program
assert len(solve_cone_program(np.eye(3), all_sets(3), 1.0, "max").low)
"""


def test_a_cone_program_needs_no_modelling_library() -> None:
    """It takes as long to import as the planner; so does scipy.stats, which it imports. The worker imports neither."""
    code = CONE_PROGRAM + "\nimport sys; print(sorted({'cvxpy', 'scipy.stats'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
