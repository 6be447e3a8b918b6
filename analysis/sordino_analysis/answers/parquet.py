"""Tables of answers as Parquet, which needs pyarrow: the extra `lake` of sordino-analysis and sordino-server.

A file is read only in the form in which it is written here, so that a hostile one takes no more memory than it says.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.parquet_files.page_heads import FileForm, checked_rows
from sordino_shared.errors import InvalidValue, SordinoError

_ARROW_TYPES = {"text": "string", "integer": "int64", "number": "float64", "truth": "bool"}
# A table of several campaigns has 40 columns and more and 400 bytes a row; its footer has 150 bytes a column and group.
TABLE = FileForm("a table of answers", group_rows=1 << 14, group_bytes=1 << 26, footer_bytes=1 << 22)
# 65,536 answers of 40 campaigns; read as Python objects they take some gigabytes.
MOST_ROWS = 65_536 * 100
# A table of so many bytes is refused: it is read into memory as a whole.
_MOST_BYTES = 1 << 30
# What pyarrow and the reading of metadata raise at damaged files.
_UNREADABLE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError)


def write_parquet(table: AnswerTable, path: Path) -> None:
    """Write the table with its types; raises SordinoError without pyarrow, OSError where the file cannot be written."""
    arrow = check_pyarrow()
    from pyarrow import parquet

    schema = arrow.schema([(name, arrow.type_for_alias(_ARROW_TYPES[kind])) for name, kind in table.types.items()])
    parquet.write_table(
        arrow.table({name: table.cells(name) for name in table.names}, schema=schema),
        path,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
        row_group_size=TABLE.group_rows,
    )


def read_parquet(path: Path) -> AnswerTable:
    """The table in a file that `write_parquet` wrote.

    Raises SordinoError without pyarrow, for a file of another form or with more than `MOST_ROWS` rows, and for one that
    holds no table of answers.
    """
    arrow = check_pyarrow()
    from pyarrow import parquet

    if path.stat().st_size > _MOST_BYTES:
        raise SordinoError(f"{path}: has more than {_MOST_BYTES:,} bytes: export fewer campaigns at once")
    content = path.read_bytes()
    try:
        if (rows := checked_rows(content, TABLE)) > MOST_ROWS:
            raise SordinoError(f"{path}: has {rows:,} rows, more than {MOST_ROWS:,}: export fewer campaigns at once")
        file = parquet.ParquetFile(
            arrow.BufferReader(content),
            thrift_string_size_limit=TABLE.footer_bytes,
            thrift_container_size_limit=TABLE.footer_bytes,
        )
        found = file.read(use_threads=False)
    except (arrow.ArrowException, OSError, *_UNREADABLE) as error:
        hint = "read what `sordino export estimates` wrote, or write it as CSV"
        raise SordinoError(f"{path}: cannot be read as Parquet: {error}; {hint}") from error
    except MemoryError as error:
        raise SordinoError(f"{path}: needs more memory than there is here: export fewer campaigns at once") from error
    try:
        return AnswerTable({}, {name: found.column(name).to_pylist() for name in found.column_names})
    except (InvalidValue, *_UNREADABLE) as error:
        raise SordinoError(f"{path}: holds no table of answers: {error}") from error


def check_pyarrow(purpose: str = "Parquet", instead: str = "; or use CSV or JSON") -> ModuleType:
    """The module; raises SordinoError, which names the extra, where it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise SordinoError(
            f"{purpose} needs pyarrow, which is not installed: install the extra `lake` of sordino-analysis or "
            f"sordino-server, or pyarrow itself{instead}"
        ) from error
    module: ModuleType = pyarrow
    return module
