"""The examples that are programs print what their pages show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import sordino_analysis as sa
from docs.site.blocks import differences
from sordino_analysis.questions.linear.concepts.indicators import held_domain
from sordino_server.cli.series_file import read_series

ROOT = Path(__file__).parents[2]
PROGRAMS = {"examples/arrival-delays/README.md": "examples/arrival-delays/arrivals.py"}
# What it prints depends on a salt: test_large_domains_example.py.
DRAWN = {"examples/large-domains/README.md": "examples/large-domains/pages.py"}
# Apps that ask, which print what their owners do: test_example_apps.py.
APPS = {
    "examples/backend/README.md": "examples/backend/backend.py",
    "examples/cli-tool/README.md": "examples/cli-tool/mytool.py",
    "examples/desktop/README.md": "examples/desktop/desktop.py",
}


def printed_by(program: Path, folder: Path) -> str:
    """What the program prints in another folder."""
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", PROGRAMS)
def test_an_example_prints_what_its_page_shows(page: str, tmp_path: Path) -> None:
    shown = re.search(r"```text\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    assert not differences(shown[1], printed_by(ROOT / PROGRAMS[page], tmp_path))


@pytest.mark.parametrize("name", ["histogram", "cdf", "marginals", "concepts"])
def test_an_example_of_a_workload_file_prints_what_its_page_shows(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data, workload and page in one folder; the page's command for a real server names files that are there."""
    folder = ROOT / "examples" / name
    page = (folder / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    named = re.findall(r"examples/[\w./-]+", page)
    assert {ROOT / path for path in named} >= set(folder.glob("*.csv")) | {folder / "workload.yaml"}
    assert all((ROOT / path).is_file() for path in named)
    columns = re.findall(r"--column (\w+)=\w+", page)
    held = held_domain(sa.workload(folder / "workload.yaml").domain)
    assert columns == [attribute.name for attribute in held.attributes]
    monkeypatch.chdir(folder)
    exec(compile(code, f"{name}/README.md", "exec"), {})
    assert not differences(shown, capsys.readouterr().out)


def test_the_example_of_a_series_prints_what_its_page_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data, file and page in one folder; `sordino series create` reads the same file."""
    folder = ROOT / "examples" / "daily-series"
    page = (folder / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert set(re.findall(r"examples/[\w./-]+", page)) == {"examples/daily-series/daily.yaml"}
    workload, terms = read_series(folder / "daily.yaml")
    assert workload["name"] == "versions"
    assert terms == {"period_s": 86_400, "slots": 7, "answers_max": 52, "value_of": "current", "late_s": 172_800}
    monkeypatch.chdir(folder)
    exec(compile(code, "daily-series/README.md", "exec"), {})
    assert not differences(shown, capsys.readouterr().out)


def test_every_program_has_a_page() -> None:
    programs = {str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("*.py")}
    assert programs == set((PROGRAMS | DRAWN | APPS).values())
    assert all((ROOT / page).is_file() for page in APPS)


def test_the_first_screen_of_the_readme_runs_and_prints_what_it_shows(tmp_path: Path) -> None:
    """Fifteen lines at most, below an install from the checkout, within the first 60 lines of the page."""
    first_screen = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:60])
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", first_screen, re.DOTALL | re.MULTILINE)
    (_, install), (language, code), (_, output) = blocks[:3]
    assert "pip install ./shared" in install
    assert language == "python"
    assert len(code.splitlines()) <= 15
    (tmp_path / "first.py").write_text(code, encoding="utf-8")
    assert not differences(output, printed_by(tmp_path / "first.py", tmp_path))


def test_the_code_of_analysis_readme_runs_on_a_csv_file(tmp_path: Path) -> None:
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "analysis" / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    (tmp_path / "delays.csv").write_text("delay\n" + "-20\n10\n200\n" * 500, encoding="utf-8")
    (tmp_path / "code.py").write_text(code, encoding="utf-8")
    printed = printed_by(tmp_path / "code.py", tmp_path)
    assert "Plan of delay, prefix: 4 queries over 5 cells" in printed
    assert "1,500 users" in printed
