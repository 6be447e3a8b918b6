"""The bare install is thin: in an environment of its own the client brings what it needs and nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sordino_client

ROOT = Path(__file__).parents[2]
# Bytes of both wheels together: 340,278 since the steps of a proof of (ε, δ) have a limit, for every round's part.
MOST_BYTES = 342_000

TRY = """
import sordino_client, sys, json
from sordino_client import Caps, Client, PureEpsilon
with Client("https://a.example", ledger=sys.argv[1], caps=Caps(PureEpsilon.of(1), 30, PureEpsilon.of(1))) as client:
    print(json.dumps([sordino_client.__version__, client.account().lifetime_nano]))
"""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode:
        raise RuntimeError(f"{command} failed: {done.stderr[-2000:]}")
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The two wheels, built from a copy, so that nothing is left in the source tree."""
    folder = tmp_path_factory.mktemp("wheels")
    for name in ("shared", "client"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "dist"))
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, folder / name, cwd=folder)
    return sorted(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh virtual environment with the client in it; skipped where no package index can be reached."""
    folder = tmp_path_factory.mktemp("environment")
    # Installing pip too would take most of the time.
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    try:
        run(
            sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "-q", "--no-compile",
            "--disable-pip-version-check", "--retries", "1",
            "-c", ROOT / "requirements" / "constraints.txt", *wheels, cwd=folder,
        )  # fmt: skip
    except RuntimeError as error:
        if "connection" in str(error).lower():
            pytest.skip(f"no package index: {str(error)[-200:]}")
        raise
    return folder


def test_the_client_brings_shared_and_nothing_else(environment: Path) -> None:
    python = environment / "bin" / "python"
    listed = json.loads(run(sys.executable, "-m", "pip", "--python", python, "list", "--format=json", cwd=environment))
    names = {package["name"].lower().replace("_", "-") for package in listed}
    assert names == {"sordino-client", "sordino-shared"}


def test_it_imports_and_opens_a_ledger(environment: Path) -> None:
    printed = run(environment / "bin" / "python", "-c", TRY, environment / "ledger.sqlite3", cwd=environment)
    assert json.loads(printed) == [sordino_client.__version__, 0]


def test_the_wheels_hold_types_and_the_data_that_randomizers_need(wheels: list[Path]) -> None:
    client, shared = (run(sys.executable, "-m", "zipfile", "-l", wheel, cwd=wheel.parent) for wheel in wheels)
    assert "sordino_client/py.typed" in client
    assert "sordino_shared/py.typed" in shared
    assert "sordino_shared/randomizers/normal_atoms.bin" in shared
    assert "tests/" not in client + shared
    assert sum(wheel.stat().st_size for wheel in wheels) <= MOST_BYTES
