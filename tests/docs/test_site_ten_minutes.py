"""The clock of a newcomer counts what is read, typed and waited for, and a page that takes too long fails."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from docs.site.blocks import blocks
from docs.site.contents import DOCS
from docs.site.style import prose
from docs.site.ten_minutes import MOST_COMMANDS, PAGES, Clock, _newest, commands, run

CLOCK = Clock(page="page.md", commands=6, words=400, machine_s=60, cpu_s=30)


def test_a_page_is_read_typed_and_waited_for() -> None:
    assert CLOCK.minutes == pytest.approx(2 + 2 + 1)
    assert CLOCK.faults() == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"words": 1_401}, "10.0 minutes, at most 10"),
        ({"machine_s": 361}, "10.0 minutes, at most 10"),
        ({"commands": 11}, "11 commands, at most 10"),
        ({"cpu_s": 61}, "61 processor seconds with the install, at most 60"),
    ],
)
def test_each_limit_can_be_broken(more: dict[str, int], said: str) -> None:
    assert replace(CLOCK, **more).faults() == [f"page.md: {said}"]


def test_commands_are_what_is_typed() -> None:
    page = "```sh\nexport KEY=$(sordino keys create --role admin)\nuntil true; do sleep 1; done\n```\n"
    page += "```sh\nsordino close \\\n    sordino\n```\n```python\nprint(1)\n```\n"
    assert commands(blocks(page)) == 3


def test_pages_of_a_newcomer_are_read_and_typed_in_time() -> None:
    """Without the machine, which `.ci/run` measures."""
    for name in PAGES:
        text = (DOCS / name).read_text(encoding="utf-8")
        typed = commands(blocks(text))
        assert 3 < typed <= MOST_COMMANDS
        assert Clock(page=name, commands=typed, words=len(prose(text).split()), machine_s=120, cpu_s=0).faults() == []


def test_a_page_runs_with_the_given_python_and_its_fault_is_told(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n2\n```\n")
    assert run(Path(sys.executable), page, tmp_path) == ""
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n7\n```\n")
    assert "the page shows 7 where it printed 2" in run(Path(sys.executable), page, tmp_path)


def test_without_wheels_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="run make dist"):
        _newest(tmp_path, "server")
