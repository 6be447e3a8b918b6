"""docs/architecture.md agrees with pyproject's floors and the tree; every page leads to the glossary."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
RECIPES = {
    "mechanism", "randomizer", "kind of linear question", "pairwise statistic", "endpoint", "setting", "metric",
    "document of the wire", "kind of question", "option of planning", "constant of a search", "page of the console",
    "command that asks a server",
}  # fmt: skip
WORDS = {
    "blanket", "shuffler", "knot", "best guess",
    "campaign", "round", "plan", "device part", "analyst part", "manifest", "population", "ledger", "cell", "report",
    "bin", "item", "salt", "level", "grid", "public randomness", "on demand", "band", "series",
    "phase", "dataset", "release", "source", "home", "collector",
}  # fmt: skip
DOCS = sorted((ROOT / "docs").rglob("*.md"))


def contracts() -> list[dict]:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    return tools["importlinter"]["contracts"]


def drawn_floors(package: str) -> list[set[str]]:
    """The names in the first column of a package's table, from the top."""
    section = re.search(rf"^### {package}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    rows = re.findall(r"^\| (`.*?) \|", section[1], re.MULTILINE)
    return [set(re.findall(r"`(\w+)`", row)) for row in rows]


@pytest.mark.parametrize("package", ["sordino_analysis", "sordino_server"])
def test_the_floors_are_those_that_the_gate_enforces(package: str) -> None:
    (layers,) = [c["layers"] for c in contracts() if c.get("containers") == [package] and c.get("exhaustive")]
    assert drawn_floors(package) == [set(layer.split(" | ")) for layer in layers]


def test_the_distributions_are_those_that_are_installed() -> None:
    rows = dict(re.findall(r"^\| `(\w+)/` \| `(\w+)` \|", PAGE, re.MULTILINE))
    assert rows == {path.parent.name: f"sordino_{path.parent.name}" for path in ROOT.glob("*/pyproject.toml")}


def test_every_file_that_is_named_exists() -> None:
    named = re.findall(
        r"`((?:tests|docs|shared|client|analysis|migrations|server|examples|benchmarks)/[\w./-]*)`", PAGE
    )
    assert len(named) > 60
    assert not [name for name in named if not (ROOT / name).exists()]


def test_there_is_a_recipe_for_each_extension_with_its_files() -> None:
    recipes = dict(re.findall(r"^### Add an? (.*?)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
    assert set(recipes) == RECIPES
    for name, text in recipes.items():
        assert re.search(r"`(shared|analysis|server)/", text), name
        assert re.search(r"`docs/", text), name


def test_the_glossary_has_these_words() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| ([a-z ]+) \| (?!meaning)", page, re.MULTILINE)) - {"word"} == WORDS


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_page_of_docs_links_the_glossary(page: Path) -> None:
    if page.name == "glossary.md":
        return
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    assert any((page.parent / link).resolve() == ROOT / "docs" / "glossary.md" for link in links if "://" not in link)


def test_no_page_installs_a_package_that_is_not_published() -> None:
    """`pip install` takes folders of the checkout only: somebody else may publish a bare name first."""
    pages = [path for path in ROOT.rglob("*.md") if not {".venv", "node_modules"} & set(path.relative_to(ROOT).parts)]
    assert len(pages) > 30
    wrong = []
    for page in pages:
        for command in re.findall(r"pip install ([^`#\n]*)", page.read_text(encoding="utf-8")):
            words = [word for word in command.split() if not word.startswith("-")]
            wrong += [f"{page.relative_to(ROOT)}: {word}" for word in words if re.match(r"[\"']?sordino", word)]
    assert not wrong


@pytest.mark.parametrize("record", sorted((ROOT / "docs" / "decisions").glob("*.md")), ids=lambda path: path.stem)
def test_a_decision_has_its_number_and_a_date(record: Path) -> None:
    title, _, decided, *_ = record.read_text(encoding="utf-8").splitlines()
    assert title.startswith(f"# {int(record.name[:4])}. ")
    assert re.fullmatch(r"\*\*Decided\*\* \d{4}-\d{2}-\d{2}\.", decided)
