"""docs/data-model.md says what the code says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import pytest

from sordino_server.models import Base
from sordino_shared.protocol import CAMPAIGN_TRANSITIONS, ROUND_TRANSITIONS

PAGE = (Path(__file__).parents[2] / "docs" / "data-model.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    found = re.search(rf"^### {title}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no section {title}"
    return found[1]


def test_every_table_is_described_and_no_other() -> None:
    tables = PAGE.split("## Tables")[1].split("## States")[0]
    assert set(re.findall(r"^### (\w+)$", tables, re.MULTILINE)) == set(Base.metadata.tables)


@pytest.mark.parametrize("table", sorted(Base.metadata.tables))
def test_the_columns_are_those_of_the_table(table: str) -> None:
    columns = section(table).split("Columns:")[1]
    assert sorted(re.findall(r"`(\w+)`", columns)) == sorted(Base.metadata.tables[table].columns.keys())


@pytest.mark.parametrize(("title", "transitions"), [("Campaign", CAMPAIGN_TRANSITIONS), ("Round", ROUND_TRANSITIONS)])
def test_the_diagram_is_the_table_of_transitions(title: str, transitions: Mapping[StrEnum, frozenset[StrEnum]]) -> None:
    arrows = set(re.findall(r"^\s+(\S+) --> (\S+)$", section(title), re.MULTILINE))
    ends = {(state.value, "[*]") for state, following in transitions.items() if not following}
    inner = {(state.value, after.value) for state, following in transitions.items() for after in following}
    start = {arrow for arrow in arrows if arrow[0] == "[*]"}
    assert len(start) == 1
    assert arrows - start == inner | ends
