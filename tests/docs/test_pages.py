"""Paths and commands that the documentation names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sordino_server.cli import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
ANALYSIS = ROOT / "analysis" / "sordino_analysis"
RANDOMIZERS = ROOT / "shared" / "sordino_shared" / "randomizers"


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    files = re.findall(r"`((?:tests|docs|shared|client|analysis|migrations|server|benchmarks)/[\w./-]+)`", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [file for file in files if not (ROOT / file).exists()]
    assert not missing


def test_every_module_of_the_mechanisms_page_exists() -> None:
    rows = re.findall(r"^\|.*\|$", (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8"), re.MULTILINE)
    modules = {module for row in rows for module in re.findall(r"`([\w/]+(?:\.py|/))`", row) if "tests/" not in module}
    assert len(modules) > 15
    places = (ANALYSIS, RANDOMIZERS, ROOT)
    assert not [module for module in modules if not any((place / module).exists() for place in places)]


def test_every_command_is_on_a_page_and_every_named_one_exists() -> None:
    """The site has a page of each with all options; by hand, somewhere it is said what the command is for."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    written = "\n".join(text for page, text in zip(PAGES, texts, strict=True) if page.parent in (ROOT, ROOT / "docs"))
    assert not [command for command in COMMANDS if f"sordino {command}" not in written]
    named = {command for text in texts for command in re.findall(r"`sordino (\w[\w-]*)", text)}
    assert named <= set(COMMANDS)


def test_every_target_of_make_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {target for page in PAGES for target in re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))}
    assert named <= targets


def test_the_quickstart_counts_the_wheels_of_make_dist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (names,) = re.findall(r"^DISTRIBUTIONS := (.+)$", makefile, re.MULTILINE)
    count = ("no", "one", "two", "three", "four", "five", "six", "seven")[len(names.split())]
    assert f"`make dist` builds {count} of them" in (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
