"""The protocol's page names every document field, problem, state and limit; the table of symbols names every letter."""

from __future__ import annotations

import re
import types
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from sordino_shared.protocol import MAX_REPORTS, CampaignState, Document, Problem, Refusal, RoundState
from sordino_shared.protocol.codec import MAX_DEPTH, MAX_ITEMS


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs" / "protocol.md").read_text("utf-8")


def structures(annotation: Any) -> set[Any]:
    """Every dataclass and enum that an annotation leads to."""
    if get_origin(annotation) in (Union, types.UnionType, tuple):
        return set().union(*(structures(argument) for argument in get_args(annotation)))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return {annotation}
    if is_dataclass(annotation):
        inner = [structures(hint) for hint in get_type_hints(annotation).values() if get_origin(hint) is not type]
        return {annotation}.union(*inner)
    return set()


def section(page: str, heading: str) -> str:
    """The text below a heading up to the next one."""
    found = re.search(rf"^#+ `{re.escape(heading)}`\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/protocol.md has no section `{heading}`"
    return found.group(1)


def test_every_field_of_every_structure_is_documented(page: str, document_types: dict[str, type[Document]]) -> None:
    for kind in set().union(*(structures(document) for document in document_types.values())):
        if issubclass(kind, Enum):
            assert all(f"`{member.value}`" in page for member in kind)
            continue
        name = getattr(kind, "document", None) or getattr(kind, "kind", None) or kind.__name__
        rows = set(re.findall(r"^\| `(\w+)` \|", section(page, name), re.MULTILINE))
        assert rows == {field.name for field in fields(kind)}, name


def test_every_size_limit_is_documented(page: str, document_types: dict[str, type[Document]]) -> None:
    for name, kind in document_types.items():
        row = re.search(rf"^\| `{name}` \| ([\d,]+) \| ([\d,]+) \|$", page, re.MULTILINE)
        assert row is not None, name
        assert [int(number.replace(",", "")) for number in row.groups()] == [kind.limit, kind.max_items]
    assert f"{MAX_DEPTH} levels" in page
    assert f"{MAX_ITEMS:,}" in page
    assert f"{MAX_REPORTS} reports" in page


def test_every_problem_is_documented_with_its_status(page: str) -> None:
    _, _, problems = page.partition("\n## Problems\n")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (\d{3}) \|", problems, re.MULTILINE))
    assert rows == {problem.slug: str(problem.status) for problem in Problem}


def test_problems_are_distinct() -> None:
    assert len({problem.slug for problem in Problem}) == len(Problem.__members__) == len(list(Problem))
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", problem.slug) for problem in Problem)
    assert all(problem.title.endswith(".") for problem in Problem)


def test_every_state_and_refusal_is_documented(page: str) -> None:
    for member in (*CampaignState, *RoundState, *Refusal):
        assert f"`{member.value}`" in page


def test_the_table_of_symbols_has_one_row_a_symbol(repository: Path) -> None:
    text = (repository / "shared" / "sordino_shared" / "notation.md").read_text("utf-8")
    symbols = re.findall(r"^\| (\S+) \|", text, re.MULTILINE)
    needed = {*"kQnεWLRTcKVMDhπρθmdgBw", "γ₂", "γ_F"}
    assert needed <= set(symbols)
    assert len(symbols) == len(set(symbols))
    sources = [path.read_text("utf-8") for part in ("shared", "analysis") for path in (repository / part).rglob("*.py")]
    words = set().union(*(re.findall(r"\w+", source) for source in sources))
    assert set(re.findall(r"`(\w+)`", text)) <= words
