"""Tables of answers as Parquet: cells come back as they were, and a hostile file is refused in words."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sordino_analysis.answers.parquet import TABLE, read_parquet, write_parquet
from sordino_analysis.answers.table import AnswerTable
from sordino_shared.errors import SordinoError

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS: list[dict[str, Any]] = [
    {"label": "delay ≤ 15", "delay_high": 15.0, "value": 0.25, "may_be_best": True, "users": 3},
    {"label": "=1+1", "value": None, "may_be_best": None, "users": 4},
]
FORM = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}


@pytest.mark.parametrize("times", [1, 20_000])
def test_cells_come_back_as_they_were(tmp_path: Path, times: int) -> None:
    table = AnswerTable.of_rows(ROWS * times)
    write_parquet(table, tmp_path / "t.parquet")
    found = read_parquet(tmp_path / "t.parquet")
    assert found.types == table.types
    assert list(found.rows()) == list(table.rows())


def test_a_table_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    write_parquet(AnswerTable({}, {"label": [], "value": []}), tmp_path / "t.parquet")
    assert read_parquet(tmp_path / "t.parquet").names == ["label", "value"]


def file_of(columns: dict[str, Any], path: Path, **form: Any) -> Path:
    parquet.write_table(pa.table(columns), path, **(FORM | form))
    return path


@pytest.mark.parametrize(
    ("columns", "form", "reason"),
    [
        ({"label": ["a"], "value": [0.5]}, {"use_dictionary": True}, "or a dictionary"),
        ({"label": ["a"], "value": [0.5]}, {"compression": "gzip"}, "another compression"),
        ({"label": ["a"], "value": [0.5]}, {"write_statistics": True}, "another form"),
        ({"label": ["a"] * (TABLE.group_rows + 1)}, {}, "rows, one of a table of answers at most"),
        ({"label": ["a" * 100_000] * 1000}, {}, "unpacks to"),
        ({"mean": [0.5]}, {}, "holds no table of answers: a table of answers has no column 'mean'"),
        ({"value": ["0.5"]}, {}, "'value' holds number cells, not '0.5'"),
        ({"value": [[0.5]]}, {}, "."),
        ({"value": [float("nan")]}, {}, "not 'nan'"),
    ],
    # Columns as names would be a name of a hundred megabytes.
    ids=["dictionary", "gzip", "statistics", "many rows", "long texts", "no label", "text", "list", "no number"],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, columns: Any, form: Any, reason: str) -> None:
    with pytest.raises(SordinoError, match=reason):
        read_parquet(file_of(columns, tmp_path / "t.parquet", **form))


def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    """Two gigabytes of one letter, in some hundred kilobytes of file."""
    path = tmp_path / "t.parquet"
    schema = pa.schema([("label", pa.string())])
    with parquet.ParquetWriter(path, schema, **FORM) as writer:
        for _ in range(4):
            writer.write_table(pa.table({"label": ["a" * (1 << 24)] * 8}, schema=schema))
    assert path.stat().st_size < 1 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SordinoError, match="unpacks to"):
        read_parquet(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 15


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_file_is_refused_or_read(tmp_path: Path, seed: int) -> None:
    """Any byte may be another: there is an error in words or a table, and the process goes on."""
    path = tmp_path / "t.parquet"
    write_parquet(AnswerTable.of_rows(ROWS * 50), path)
    content = bytearray(path.read_bytes())
    for place in range(15 * seed, len(content), 60):
        damaged = content.copy()
        damaged[place] ^= 1 << (seed + place) % 8
        path.write_bytes(damaged)
        with suppress(SordinoError):
            assert len(read_parquet(path)) <= 200


def test_a_table_for_which_memory_is_short_is_refused_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "answers.parquet"
    write_parquet(AnswerTable.of_rows(ROWS), path)

    def short(*_: Any) -> int:
        raise MemoryError

    monkeypatch.setattr("sordino_analysis.answers.parquet.checked_rows", short)
    with pytest.raises(SordinoError, match="needs more memory than there is here: export fewer campaigns at once"):
        read_parquet(path)
