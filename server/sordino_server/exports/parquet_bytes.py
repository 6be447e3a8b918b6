"""A table of estimates as Parquet, made by the process that answers questions: pyarrow takes a hundred megabytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sordino_analysis.answers.parquet import write_parquet
from sordino_analysis.answers.table import AnswerTable


def parquet_bytes(table: AnswerTable) -> bytes:
    """The table as a file; raises SordinoError without pyarrow."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "estimates.parquet"
        write_parquet(table, path)
        return path.read_bytes()
