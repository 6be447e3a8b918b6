"""From a CSV file to a certified plan and a simulated answer in ten lines, with the two wheels alone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEN_LINES = """\
import json
import sordino_analysis as sa
workload = sa.prefix([-15, 0, 15, 60], name="delay", unit="min")
plan = sa.plan(workload, epsilon=1)
print(json.dumps([plan.mechanism, plan.variance, plan.bound, all(check.holds for check in plan.audit())]))
print(json.dumps(plan.users_needed(error=0.02)))
run = sa.simulate(plan, sa.read_csv("delays.csv", workload), seed=3)
print(json.dumps(run.truth.tolist()))
print(json.dumps(run.estimate.intervals.tolist()))
print(json.dumps(int(run.inside.sum())))
"""
NOT_FOR_ANALYSTS = ("sordino-server", "sordino-client", "fastapi", "sqlalchemy", "httpx", "typer")
EVERY_FOURTH = "delay\n" + "-20\n-3\n10\n200\n" * 2500


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode:
        raise RuntimeError(f"{command} failed: {done.stderr[-2000:]}")
    return done.stdout


def check_answers(printed: str) -> None:
    """A plan within 20 % of its bound, and intervals of which at least 2 of 4 hold the truth (seeded)."""
    (mechanism, variance, bound, holds), users, truth, intervals, inside = map(json.loads, printed.splitlines())
    assert mechanism
    assert holds
    assert 1 <= variance / bound < 1.2
    assert users == pytest.approx(variance / 0.02**2, abs=1)
    assert truth == [0.25, 0.5, 0.75, 0.75]
    assert all(low < high for low, high in intervals)
    assert inside >= 2


def test_ten_lines_from_a_csv_to_a_certified_plan_and_a_simulated_answer(tmp_path: Path) -> None:
    """In this environment, but without server and client."""
    assert len(TEN_LINES.splitlines()) == 10
    (tmp_path / "delays.csv").write_text(EVERY_FOURTH)
    hidden = (
        "import sys\nfor name in ('sordino_server', 'sordino_client', 'fastapi', 'httpx'): sys.modules[name] = None\n"
    )
    check_answers(run(sys.executable, "-c", hidden + TEN_LINES, cwd=tmp_path))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh virtual environment with the wheels of shared and analysis; skipped where no index can be reached."""
    folder = tmp_path_factory.mktemp("analyst")
    for name in ("shared", "analysis"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "dist"))
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, folder / name, cwd=folder)
    # Installing pip too would take most of the time.
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    try:
        run(
            sys.executable, "-m", "pip", "--python", folder / "venv" / "bin" / "python", "install",
            "-q", "--no-compile", "--disable-pip-version-check", "--retries", "1",
            "-c", ROOT / "requirements" / "constraints.txt", *folder.glob("*.whl"), cwd=folder,
        )  # fmt: skip
    except RuntimeError as error:
        if "connection" in str(error).lower():
            pytest.skip(f"no package index: {str(error)[-200:]}")
        raise
    return folder


@pytest.mark.slow
def test_the_ten_lines_run_on_the_wheels_alone(environment: Path) -> None:
    python = environment / "venv" / "bin" / "python"
    listed = json.loads(run(sys.executable, "-m", "pip", "--python", python, "list", "--format=json", cwd=environment))
    names = {re.sub(r"[-_.]+", "-", package["name"]).lower() for package in listed}
    assert names >= {"sordino-shared", "sordino-analysis", "numpy", "scipy", "clarabel", "threadpoolctl"}
    assert not names & set(NOT_FOR_ANALYSTS)
    (environment / "delays.csv").write_text(EVERY_FOURTH)
    check_answers(run(python, "-I", "-c", TEN_LINES, cwd=environment))
