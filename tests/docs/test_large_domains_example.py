"""The example of very large domains: its commands and its program print what its page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docs.site.blocks import NUMBER, differences
from sordino_server.cli import app
from tests.docs.test_examples import ROOT, printed_by

FOLDER = ROOT / "examples" / "large-domains"
BLOCKS = re.findall(r"```text\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL)
COMMANDS = dict(block.removeprefix("$ sordino ").split("\n", 1) for block in BLOCKS if block.startswith("$ sordino "))
SLOW = [command for command in COMMANDS if "startup" in command]


@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=[pytest.mark.slow] if each in SLOW else []) for each in COMMANDS]
)
def test_a_command_prints_what_the_page_shows(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    run = CliRunner().invoke(app, [*shlex.split(command), "--no-cache"])
    assert run.exit_code == 0, run.output
    assert not differences(COMMANDS[command], run.stdout)


def test_every_workload_of_the_folder_is_on_the_page() -> None:
    shown = {Path(word).name for command in COMMANDS for word in command.split() if word.endswith(".yaml")}
    assert shown == {path.name for path in FOLDER.glob("*.yaml")}


def test_the_program_prints_what_the_page_shows_but_for_the_salt(tmp_path: Path) -> None:
    """The band of 2^40 items is 7.6 standard errors wide: it misses one of three shares with a chance below 1e-12."""
    (shown,) = (block.splitlines() for block in BLOCKS if not block.startswith("$ "))
    printed = printed_by(FOLDER / "pages.py", tmp_path).splitlines()
    assert [NUMBER.sub("#", line).split() for line in shown] == [NUMBER.sub("#", line).split() for line in printed]
    exact = (0, 1, 2, len(shown) - 1)
    assert not differences("\n".join(shown[each] for each in exact), "\n".join(printed[each] for each in exact))
    truth = [float(share) for share in re.findall(r"([\d.]+)%", printed[-1])]
    bands = [re.findall(r"([\d.]+) … ([\d.]+) %", line)[0] for line in printed if line.startswith("https://")]
    assert [float(low) <= share <= float(high) for (low, high), share in zip(bands, truth, strict=True)] == [True] * 3
