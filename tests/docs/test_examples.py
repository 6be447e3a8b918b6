"""The examples that are programs print what their pages show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = {"examples/arrival-delays/README.md": "examples/arrival-delays/arrivals.py"}


def printed_by(program: Path, folder: Path) -> str:
    """What the program prints in another folder."""
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", PROGRAMS)
def test_an_example_prints_what_its_page_shows(page: str, tmp_path: Path) -> None:
    shown = re.search(r"```text\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    assert printed_by(ROOT / PROGRAMS[page], tmp_path) == shown[1]


def test_every_program_has_a_page() -> None:
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("*.py")} == set(PROGRAMS.values())


def test_the_first_screen_of_the_readme_runs_and_prints_what_it_shows(tmp_path: Path) -> None:
    """Fifteen lines at most, below an install from the checkout, within the first 60 lines of the page."""
    first_screen = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:60])
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", first_screen, re.DOTALL | re.MULTILINE)
    (_, install), (language, code), (_, output) = blocks[:3]
    assert "pip install ./shared" in install
    assert language == "python"
    assert len(code.splitlines()) <= 15
    (tmp_path / "first.py").write_text(code, encoding="utf-8")
    assert printed_by(tmp_path / "first.py", tmp_path) == output
