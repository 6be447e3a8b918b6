"""Every writer of a table writes the columns of the list, by their names, in their order, and each cell as it is."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sordino_analysis.answers.columns import COLUMNS, Cell, ColumnType
from sordino_analysis.answers.csv_text import as_csv
from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.answers.frames import as_columns, as_pandas, as_polars
from sordino_analysis.answers.shown import as_html, as_text, shown_answers
from sordino_analysis.answers.svg import draw_answers_of
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.kinds.reading import UnreadableEstimate, read_document
from sordino_shared.errors import InvalidValue

NAMES = [column.name for column in COLUMNS]
CELLS: dict[ColumnType, list[Cell]] = {
    "text": ["a", None],
    "integer": [3, None],
    "number": [0.25, None],
    "truth": [True, None],
}
FULL = AnswerTable({}, {column.name: CELLS[column.type] for column in COLUMNS})


def by_parquet(tmp_path: Path) -> list[str]:
    pytest.importorskip("pyarrow")
    from sordino_analysis.answers.parquet import read_parquet, write_parquet

    write_parquet(FULL, tmp_path / "t.parquet")
    return read_parquet(tmp_path / "t.parquet").names


def by_csv(_: Path) -> list[str]:
    return next(csv.reader(io.StringIO(as_csv(FULL))))


def by_rows(_: Path) -> list[str]:
    document = FULL.document()
    assert all(list(row) == [column["name"] for column in document["columns"]] for row in document["rows"])
    return [column["name"] for column in document["columns"]]


def by_pandas(_: Path) -> list[str]:
    pytest.importorskip("pandas")
    return list(as_pandas(FULL).columns)


def by_polars(_: Path) -> list[str]:
    pytest.importorskip("polars")
    return list(as_polars(FULL).columns)


def by_arrays(_: Path) -> list[str]:
    return list(as_columns(FULL))


@pytest.mark.parametrize(
    "write", [by_parquet, by_csv, by_rows, by_pandas, by_polars, by_arrays], ids=lambda write: str(write.__name__)
)
def test_a_writer_has_every_column_in_order(write: Callable[[Path], list[str]], tmp_path: Path) -> None:
    assert write(tmp_path) == NAMES


def test_a_document_has_every_column_and_says_warnings_once() -> None:
    columns = {name: cells for name, cells in FULL.columns.items() if name != "warnings"}
    found = EstimateDocument(kind="x", terms={}, columns=columns, extras=Extras(warnings=("few",))).content()
    assert list(json.loads(found)["table"]) == [name for name in NAMES if name != "warnings"]
    read = read_document(found, Extras)
    assert dict(read.columns) == columns
    assert read.table.terms["warnings"] == "few"
    own = EstimateDocument(kind="x", terms={}, columns=FULL.columns, extras=Extras(warnings=("few",)))
    assert own.table.cells("warnings") == ["few | a", "few"]
    assert own.content() == read_document(own.content(), Extras).content()
    with pytest.raises(InvalidValue, match="'warnings' is both a term and a column"):
        EstimateDocument(kind="x", terms={"warnings": "few"}, columns=FULL.columns, extras=Extras(warnings=()))


ANSWERS = AnswerTable.of_rows(
    [
        {"kind": "prefix", "label": "<delay> ≤ 15", "unit": "share", "value": 0.61803, "standard_error": 0.0123,
         "lower": 0.594, "upper": 0.642, "band_lower": 0.58, "band_upper": 0.65, "best": 0.62},
        {"kind": "prefix", "label": "<delay> ≤ 60", "unit": "share", "value": 1.0, "standard_error": 0.0035,
         "lower": 0.993, "upper": 1.0, "band_lower": 0.99, "band_upper": 1.0, "best": 1.0},
    ],
    users=1000, epsilon=0.5, level=0.95, mechanism="m", compared=2,
)  # fmt: skip


def test_text_html_and_picture_show_the_same_numbers() -> None:
    shown = shown_answers(ANSWERS).titled("Delays")
    text, html = as_text(shown), as_html(shown)
    svg = draw_answers_of(ANSWERS, "Delays", "1,000 users")
    assert text.splitlines() == [
        "Delays",
        "query         best guess       95 % band   answer  std. error   95 % interval",
        "<delay> ≤ 15      62.0 %   58.0 … 65.0 %   61.8 %       1.2 %   59.4 … 64.2 %",
        "<delay> ≤ 60     100.0 %  99.0 … 100.0 %  100.0 %       0.4 %  99.3 … 100.0 %",
        "1,000 users, ε = 0.5, mechanism m; the band holds 2 answers at once",
    ]
    for row in shown.rows:
        for cell in row[1:]:
            assert f"<td>{cell}</td>" in html
    assert "<delay>" not in html
    assert "<delay>" not in svg
    assert "from 62.00 % to 100.00 %" in svg


class Counted(Extras):
    count: int


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"extras": {"warnings": []}}, "x.extras.count: Field required"),
        ({"extras": {"warnings": [], "count": 1, "other": 2}}, "x.extras.other"),
        ({"table": {"label": ["a"], "value": [0.5, 0.6]}}, "one length, not label 1, value 2"),
        ({"table": {"mean": [0.5]}}, "no column 'mean'"),
        ({"table": {"value": ["0.5"]}}, "'value' holds number cells"),
        ({"table": {"label": "ab"}}, "table.label: is no list"),
        ({"table": [1]}, "table is no object"),
        ({"terms": {"users": 0.5}}, "'users' holds integer cells"),
        ({"terms": {"label": "a"}}, "both a term and a column"),
    ],
    ids=str,
)
def test_a_document_that_breaks_a_rule_is_refused_in_words(change: dict[str, Any], reason: str) -> None:
    good = {"kind": "x", "terms": {"users": 1}, "table": {"label": ["a"]}, "extras": {"warnings": [], "count": 1}}
    assert read_document(json.dumps(good), Counted).users == 1
    with pytest.raises(UnreadableEstimate, match=reason):
        read_document(json.dumps(good | change), Counted)
    for part in good:
        with pytest.raises(UnreadableEstimate, match=f"no field '{part}'"):
            read_document(json.dumps({name: value for name, value in good.items() if name != part}), Counted)
    for content in ("", "[", "1", '{"a": ', "[" * 100_000):
        with pytest.raises(UnreadableEstimate):
            read_document(content, Counted)
