"""The table of answers: one list of columns, cells of their types, and the same cells in every form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sordino_analysis.answers.columns import COLUMNS, in_order, named, type_of_cells
from sordino_analysis.answers.csv_text import as_csv, csv_lines
from sordino_analysis.answers.table import EXPORTED, AnswerTable, wider
from sordino_shared.errors import InvalidValue

ROWS: list[dict[str, Any]] = [
    {"label": "delay ≤ 15", "delay_high": 15, "value": 0.25, "may_be_best": True},
    {"label": "=1+1", "delay_high": 30.5, "value": None, "may_be_best": False},
]
PAGE = Path(__file__).parents[3] / "docs" / "results.md"


def test_columns_and_terms_stand_in_the_order_of_the_list() -> None:
    table = AnswerTable.of_rows(ROWS, users=10, campaign_id="aa")
    assert table.names == ["campaign_id", "label", "delay_high", "value", "may_be_best", "users"]
    assert list(table.types.values()) == ["text", "text", "number", "number", "truth", "integer"]
    assert list(table.rows())[1] == ("aa", "=1+1", 30.5, None, False, 10)
    assert len(table) == 2


def test_csv_has_no_formula_and_the_same_lines_in_pieces() -> None:
    table = AnswerTable.of_rows(ROWS * 600, users=10)
    text = as_csv(table)
    assert text.splitlines()[:3] == [
        "label,delay_high,value,may_be_best,users",
        "delay ≤ 15,15,0.25,true,10",
        "'=1+1,30.5,,false,10",
    ]
    pieces = list(csv_lines(table.names, table.rows()))
    assert len(pieces) > 1
    assert "".join(pieces) == text


@pytest.mark.parametrize(
    ("terms", "columns", "reason"),
    [
        ({}, {"label": ["a"], "value": [0.5, 0.6]}, "one length, not label 1, value 2"),
        ({}, {"values": [1.0]}, "no column 'values'"),
        ({"mean": 1.0}, {}, "no column 'mean'"),
        ({"users": 1}, {"users": [1]}, "'users' is both"),
        ({"users": 0.5}, {}, "'users' holds integer cells, not '0.5'"),
        ({"users": True}, {}, "'users' holds integer cells"),
        ({}, {"value": [float("nan")]}, "'value' holds number cells, not 'nan'"),
        ({}, {"value": [0.5, None, "x"]}, "row 3: column 'value' holds number cells, not 'x'"),
        ({}, {"label": [1]}, "'label' holds text cells"),
        ({}, {"may_be_best": [1]}, "'may_be_best' holds truth cells"),
        ({}, {"x_low": ["a"]}, "'x_low' holds number cells"),
        ({}, {"users": [2**63]}, "'users' holds integer cells"),
    ],
)
def test_a_table_that_breaks_a_rule_is_refused(terms: Any, columns: Any, reason: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(reason)):
        AnswerTable(terms, columns)


def test_tables_of_several_campaigns_have_every_exported_column() -> None:
    one = AnswerTable.of_rows([{"label": "a", "x_low": 1, "value": 0.5}], campaign="one")
    two = AnswerTable.of_rows([{"label": "b", "x_low": 1.5, "value": 0.5}], campaign="two", rho=0.5)
    both = AnswerTable.exported([one, two])
    assert both.names == in_order((*EXPORTED, "x_low", "rho"))
    assert both.columns["rho"] == [None, 0.5]
    types = wider(wider(EXPORTED, one.types), two.types)
    assert {name: types[name] for name in both.names} == both.types
    assert both.types["x_low"] == "number"


def test_no_column_of_the_list_is_taken_for_a_bound() -> None:
    names = [column.name for column in COLUMNS]
    assert len(set(names)) == len(names)
    assert all(named(name) is not None for name in names)
    assert not any(name.endswith(("_low", "_high", "_label", "_unit")) for name in names)
    assert type_of_cells("x_label", []) == "text"


def test_the_page_has_every_column() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]*) \| (text|integer|number|truth)", text, re.MULTILINE)
    named_types = [(name, kind) for cell, kind in rows for name in re.findall(r"`([^`]+)`", cell)]
    described = {name: kind for name, kind in named_types if not name.startswith("X")}
    assert described == {column.name: column.type for column in COLUMNS}
