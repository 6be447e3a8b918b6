"""The wheels bring the migrations: an environment without the checkout upgrades an empty database."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = ("shared", "client", "analysis", "migrations", "server")


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
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    wheels = sorted(folder.glob("*.whl"))
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", *wheels, cwd=folder)
    # A folder that a .pth file names is searched, and the .pth files in it, which name this checkout, are not read.
    place = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    Path(place, "libraries.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return folder


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
