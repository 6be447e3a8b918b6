"""Values from CSV files: what fits is read, what does not is said with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from sordino_analysis.analyst.tables import ColumnError, device_values, read_table
from sordino_analysis.vectorized.domains import encode_many
from sordino_shared.domains import Categorical, Domain, Ordinal


@pytest.fixture
def write(tmp_path: Path):
    def written(text: str | bytes) -> Path:
        path = tmp_path / "rows.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


def test_reads_quoted_columns_and_skips_blank_lines_and_a_byte_order_mark(write) -> None:
    table = read_table(write('\ufeffname,"a, b"\nx,1\n\ny,"2"\n'), ["a, b", "name"])
    assert table.columns == {"a, b": ["1", "2"], "name": ["x", "y"]}
    assert list(table.lines) == [2, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("delay\n", "no rows"),
        ("late\n1\n", "no column 'delay'; its columns are 'late'"),
        ("delay,delay\n1,2\n", "more than one column 'delay'"),
        ("delay,x\n1,2\n3\n", "line 3 has 1 fields, the header has 2"),
        (b"delay\n\xff\xfe\n", "UTF-8"),
    ],
)
def test_refuses_files_that_are_not_a_table_with_the_column(write, text: str | bytes, message: str) -> None:
    with pytest.raises(ColumnError, match=message) as caught:
        read_table(write(text), ["delay"])
    assert caught.value.path.name == "rows.csv"


def test_refuses_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ColumnError, match="No such file"):
        read_table(tmp_path / "none.csv", ["delay"])


def test_a_value_becomes_the_member_that_a_device_would_report(write) -> None:
    domain = Domain(
        (Ordinal("delay", (0.0, 10.0), missing=True, other=True), Categorical("who", ("A",), missing=True, other=True))
    )
    table = read_table(write("delay,who\n-1,A\n10.5,B\nNA,\nsoon, A \ninf,null\n"), ["delay", "who"])
    cells = encode_many(domain, device_values(table, domain, {"delay": "delay", "who": "who"}))
    assert [domain.label(int(cell)) for cell in cells] == [
        "≤ 0 · A",
        "> 10 · other",
        "missing · missing",
        "missing · A",
        "missing · missing",
    ]


@pytest.mark.parametrize(("text", "line"), [("delay\n1\nsoon\nNA\n", 3), ("delay\n1\n2\nNA\nsoon\n", 4)])
def test_an_exhaustive_domain_refuses_what_it_does_not_list_with_the_line(write, text: str, line: int) -> None:
    table = read_table(write(text), ["delay"])
    with pytest.raises(ColumnError, match=f"2 of . values in column 'delay' .* first in line {line}"):
        device_values(table, Domain((Ordinal("delay", (0.0,)),)), {"delay": "delay"})
