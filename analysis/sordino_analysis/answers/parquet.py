"""Tables of answers as Parquet, which needs pyarrow: the extra `lake` of sordino-analysis and sordino-server."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from sordino_analysis.answers.table import AnswerTable
from sordino_shared.errors import SordinoError

_ARROW_TYPES = {"text": "string", "integer": "int64", "number": "float64", "truth": "bool"}


def write_parquet(table: AnswerTable, path: Path) -> None:
    """Write the table with its types; raises SordinoError without pyarrow, OSError where the file cannot be written."""
    arrow = check_pyarrow()
    from pyarrow import parquet

    schema = arrow.schema([(name, arrow.type_for_alias(_ARROW_TYPES[kind])) for name, kind in table.types.items()])
    parquet.write_table(arrow.table({name: table.cells(name) for name in table.names}, schema=schema), path)


def read_parquet(path: Path) -> AnswerTable:
    """The table in a file; raises SordinoError without pyarrow and for a file that holds no table of answers."""
    arrow = check_pyarrow()
    from pyarrow import parquet

    try:
        rows = parquet.read_table(path).to_pylist()
    except arrow.ArrowException as error:
        raise SordinoError(f"{path}: cannot be read as Parquet: {error}") from error
    # A cell that is empty on every row of a column still names the column.
    return AnswerTable.of_rows(rows)


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
