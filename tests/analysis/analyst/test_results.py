"""Tables of estimates from files: the same cells from every form, and what is said of a file that is none."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.answers.columns import cells_of_bounds
from sordino_analysis.answers.csv_text import as_csv
from sordino_analysis.answers.parquet import write_parquet
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.documents.attribute_bounds import AttributeBounds
from sordino_shared.errors import InvalidValue, SordinoError

LARGE = 2**60 + 1
ROWS: list[dict[str, Any]] = [
    {"campaign": "a", "campaign_id": "aa", "value": 0.25, "users": 10, "lower": -0.5, "n_low": 1, "n_high": LARGE},
    {"campaign": "b\u2028b", "campaign_id": "bb", "value": 1e-300, "users": 20, "edge_high": 2.5, "os_label": "x,y"},
    {"campaign": "c\nc", "campaign_id": "cc", "value": None, "users": 30, "edge_high": 3},
]


def exported(rows: list[dict[str, Any]]) -> AnswerTable:
    """The rows with every column that exports have."""
    return AnswerTable.exported([AnswerTable.of_rows(rows)])


def _write(folder: Path, form: str, rows: list[dict[str, Any]] = ROWS) -> Path:
    table, path = exported(rows), folder / f"table.{form}"
    if form == "json":
        path.write_text(json.dumps(table.document()))
    elif form == "csv":
        path.write_text(as_csv(table), newline="")
    else:
        write_parquet(table, path)
    return path


def _needs(library: str) -> Any:
    return pytest.mark.skipif(find_spec(library) is None, reason=f"`pip install {library}` to run this")


FORMS = ["csv", "json", pytest.param("parquet", marks=_needs("pyarrow"))]


@pytest.mark.parametrize("form", FORMS)
def test_columns_hold_numbers_exactly_and_say_what_is_empty(tmp_path: Path, form: str) -> None:
    columns = sa.read_estimates(str(_write(tmp_path, form)), frame="columns")
    assert columns["campaign"] == ["a", "b\u2028b", "c\nc"]
    assert columns["users"].dtype == np.int64
    np.testing.assert_array_equal(columns["value"], [0.25, 1e-300, np.nan])
    np.testing.assert_array_equal(columns["edge_high"], [np.nan, 2.5, 3.0])
    np.testing.assert_array_equal(columns["n_low"], [1, np.nan, np.nan])
    assert columns["os_label"] == [None, "x,y", None]
    assert columns["warnings"] == [None] * 3
    one = sa.read_estimates(_write(tmp_path, form, ROWS[:1]), frame="columns")
    assert one["n_high"].tolist() == [LARGE]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_data_frames_have_types_and_rows(tmp_path: Path, form: str, frame: Any) -> None:
    found = sa.read_estimates(_write(tmp_path, form), frame=frame)
    assert found.shape == (3, len(exported(ROWS).names))
    types = [str(found[name].dtype).lower() for name in ("campaign", "users", "value", "n_low")]
    assert types == ["string", "int64", "float64", "int64"]
    assert found["n_high"][0] == LARGE
    assert found["value"][0] == 0.25
    assert found["os_label"][1] == "x,y"
    assert type(sa.read_estimates(_write(tmp_path, form))).__name__ == "DataFrame"


def test_without_a_library_columns_are_returned_and_a_wish_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _write(tmp_path, "json")
    monkeypatch.setattr("sordino_analysis.analyst.results.find_spec", lambda name: None)
    assert isinstance(sa.read_estimates(path), dict)
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(SordinoError, match="pandas is not installed"):
        sa.read_estimates(path, frame="pandas")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.txt", b"", "ends with none of"),
        ("t.json", b"{", "is not JSON"),
        ("t.json", b'{"queries": []}', "no table of estimates"),
        ("t.json", b'{"rows": [{"campaign": 1}]}', "row 1: column 'campaign' holds text"),
        ("t.json", b'{"rows": [{"value": NaN}]}', "column 'value' holds number"),
        ("t.json", b'{"rows": [{"users": 1e400}]}', "column 'users' holds integer"),
        ("t.json", b'{"rows": [{"users": true}]}', "column 'users' holds integer"),
        ("t.json", b'{"rows": [{"delay": 3}]}', "no column 'delay'"),
        ("t.csv", b"", "no table of estimates"),
        ("t.csv", b"label,value\nx,1\n", "no table of estimates"),
        ("t.csv", b"campaign_id,value\nx\n", "has 1 fields"),
        ("t.csv", b"campaign_id,value\nx,much\n", "no number"),
        ("t.csv", b"campaign_id,value\nx,nan\n", "column 'value' holds number"),
        ("t.csv", b'campaign_id,value\n"x,1\n', "cannot be read"),
        ("t.csv", b"campaign_id,label\nx,\xff\n", "cannot be read"),
        pytest.param("t.parquet", b"PAR1", "as Parquet", marks=_needs("pyarrow")),
    ],
)
def test_a_file_that_is_no_table_says_so(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SordinoError, match=words) as refusal:
        sa.read_estimates(path, frame="columns")
    assert name in str(refusal.value)


def test_a_file_or_a_server_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SordinoError, match="cannot be read"):
        sa.read_estimates(tmp_path / "none.csv")
    with pytest.raises(SordinoError, match="cannot be fetched"):
        sa.read_estimates("http://127.0.0.1:1/v1/estimates?campaign=a")


def test_no_name_of_an_attribute_takes_a_column_of_the_answers() -> None:
    names = ["value", "band", "", "users", "campaign"]
    bounds = [AttributeBounds(attribute=name, low=1, high=2, label="x", unit="s") for name in names]
    table = exported([{"campaign": "a", **cells_of_bounds(bounds)}])
    assert len(table.names) == len(exported([]).names) + 4 * len(names)
    with pytest.raises(InvalidValue, match="no column 'values'"):
        AnswerTable.of_rows([{"values": 1}])
