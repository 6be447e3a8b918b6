"""The wheels of `make dist` in an environment without the checkout: a database is upgraded, the quickstart runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import site
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = ("shared", "client", "shuffler", "analysis", "migrations", "server")
WORKLOAD = """
name: delay of arrival
domain:
  - {name: delay, kind: ordinal, unit: min, edges: [-30, -15, 0, 15, 60, 180], missing: true}
queries: prefix
"""
DEVICE = """
import sys
from sordino_client import Caps, Client
caps = Caps.of(1, days=28, lifetime=12)
with Client(sys.argv[1], ledger="ledger.sqlite3", caps=caps) as client:
    campaign = client.join(sys.argv[2])
    client.answer(campaign, 17.0)
    print(client.flush().delivered)
"""


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=kept | variables)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with our wheels; the libraries below them are those of the running environment."""
    folder = tmp_path_factory.mktemp("wheels")
    for name in DISTRIBUTIONS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "dist"))
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, folder / name, cwd=folder)
        shutil.rmtree(folder / name)
    # Installing pip too would take most of the time.
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    wheels = sorted(folder.glob("*.whl"))
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--quiet", "--disable-pip-version-check", "--no-deps", *wheels, cwd=folder)
    # A folder that a .pth file names is searched, and the .pth files in it, which name this checkout, are not read.
    place = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    Path(place, "libraries.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return folder


def test_make_dist_builds_these_distributions() -> None:
    made = re.search(r"^DISTRIBUTIONS := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert made is not None
    assert tuple(made[1].split()) == DISTRIBUTIONS


@pytest.fixture
def served(environment: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a server that runs from the wheels in an empty folder, until its process is terminated."""
    command = [environment / "venv/bin/sordino", "serve", "--port", "0"]
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SORDINO"))}
    with subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        lines = iter(server.stdout.readline, "")
        yield next(line.split()[-1] for line in lines if "listening on" in line)
        server.terminate()


@pytest.mark.slow
def test_the_quickstart_runs_from_the_wheels(environment: Path, served: str, tmp_path: Path) -> None:
    """A key, a campaign, a device with the SDK, the estimates: as docs/quickstart.md shows it."""
    programs = environment / "venv" / "bin"
    created = run(programs / "sordino", "keys", "create", "--role", "admin", "--name", "me", cwd=tmp_path)
    operator = {"SORDINO_SERVER": served, "SORDINO_KEY": created.split()[-1]}

    def sordino(*arguments: str) -> Any:
        return json.loads(run(programs / "sordino", *arguments, "--json", cwd=tmp_path, **operator))

    (tmp_path / "delays.yaml").write_text(WORKLOAD)
    terms = ("--name", "delays", "--population", "passengers", "--purpose", "How late you arrived, with random noise.")
    campaign = sordino("campaigns", "create", *terms, "--epsilon", "1", "--workload", "delays.yaml", "--open")["id"]
    (tmp_path / "device.py").write_text(DEVICE)
    assert run(programs / "python", "device.py", served, campaign, cwd=tmp_path) == "1\n"
    sordino("campaigns", "close", "delays")
    answers = sordino("campaigns", "estimates", "delays")
    assert answers["terms"]["users"] == 1
    assert len(answers["table"]["label"]) == 7


def test_the_wheels_upgrade_an_empty_database(environment: Path) -> None:
    python = environment / "venv" / "bin" / "python"
    places = run(
        python, "-c", "import sordino_migrations, sordino_server as s; print(sordino_migrations.__file__, s.__file__)",
        cwd=environment,
    )  # fmt: skip
    assert all(place.startswith(str(environment)) for place in places.split()), places
    url = f"sqlite:///{environment / 'empty.sqlite3'}"
    run(python, "-m", "sordino_server", "db", "upgrade", cwd=environment, SORDINO_DATABASE_URL=url)
    assert run(python, "-m", "sordino_server", "db", "check", cwd=environment, SORDINO_DATABASE_URL=url)


def test_the_shuffler_runs_by_itself(environment: Path, tmp_path: Path) -> None:
    """Its command makes a key; the program loads nothing of ours but shared, and no framework."""
    folders = {name: str(tmp_path / name.lower()) for name in ("FOLDER", "KEPT")}
    variables = {f"SORDINO_SHUFFLER_{name}": path for name, path in folders.items()}
    command = environment / "venv" / "bin" / "sordino-shuffler"
    made = json.loads(run(command, "keys", "--create", "--json", cwd=tmp_path, **variables))
    assert json.loads(run(command, "keys", "--json", cwd=tmp_path, **variables)) == made
    program = "import sys, sordino_shuffler.service; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = set(run(environment / "venv" / "bin" / "python", "-c", program, cwd=tmp_path).split())
    assert {name for name in loaded if name.startswith("sordino")} == {"sordino_shuffler", "sordino_shared"}
    assert not loaded & {"numpy", "fastapi", "starlette", "pydantic", "sqlalchemy", "httpx"}
