"""A table of estimates as JSON."""

from __future__ import annotations

from pydantic import BaseModel, Field

from sordino_analysis.answers.columns import ColumnType


class ResultColumn(BaseModel):
    """A column of the table."""

    name: str
    type: ColumnType


class ResultDocument(BaseModel):
    """Estimates of several campaigns: a row for each query or statistic."""

    columns: list[ResultColumn]
    rows: list[dict[str, str | int | float | None]] = Field(
        description="Each has every column; a cell that says nothing is null. docs/results.md has the columns."
    )
