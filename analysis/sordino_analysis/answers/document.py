"""The estimate of a campaign or of one of its rounds, as it is stored: `{kind, terms, table, extras}` in JSON.

`terms` are cells that every answer has, `table` the answers as columns, `extras` a model of the kind of question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.answers.columns import Cell, in_order
from sordino_analysis.answers.table import AnswerTable, joined


class SourceReports(BaseModel):
    """How many reports of a round came from a source as sums; 0 where none came."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    round: int
    reports: int


class Extras(BaseModel):
    """What an estimate has that is no number of an answer; each kind of question adds its own fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    warnings: tuple[str, ...]
    sources: tuple[SourceReports, ...] = Field(
        (), description="Reports of each round that others added up, by source; empty for a campaign without."
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class EstimateDocument:
    """An estimate of the question's kind `kind`; it never changes. Raises InvalidValue where the columns are no table.

    `terms` and `columns` are those of an `AnswerTable`, but the warnings of all answers, which are in `extras`.
    """

    kind: str
    terms: Mapping[str, Cell]
    columns: Mapping[str, Sequence[Cell]]
    extras: Extras

    def __post_init__(self) -> None:
        _ = self.table

    @classmethod
    def of_rows(cls, kind: str, rows: Sequence[Mapping[str, Cell]], extras: Extras, **terms: Cell) -> Self:
        """With the answers row by row; a cell that a row does not have is empty."""
        return cls(kind=kind, terms=terms, columns=AnswerTable.of_rows(rows).columns, extras=extras)

    @classmethod
    def of_columns(cls, kind: str, columns: Mapping[str, Sequence[Cell]], extras: Extras, **terms: Cell) -> Self:
        """With the answers as columns, without those in which every cell is empty."""
        return cls(kind=kind, terms=terms, columns=AnswerTable.of_columns(columns).columns, extras=extras)

    @cached_property
    def table(self) -> AnswerTable:
        """The answers, one a row; what one row alone warns of is behind what all do."""
        own = self.columns.get("warnings")
        if own is None:
            return AnswerTable({**self.terms, "warnings": joined(self.extras.warnings)}, self.columns)
        cells = [joined([*self.extras.warnings, *([str(each)] if each else [])]) for each in own]
        return AnswerTable(self.terms, {**self.columns, "warnings": cells})

    def answers(self) -> Iterator[dict[str, Cell]]:
        """The answers as rows, without the terms."""
        return (dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True))

    @property
    def users(self) -> int:
        """How many reports the answers come from; of a kind that has one number for all of them."""
        users = self.terms["users"]
        assert isinstance(users, int)
        return users

    @property
    def epsilon(self) -> float:
        """ε of one device, or what the ρ of a release implies."""
        epsilon = self.terms["epsilon"]
        assert isinstance(epsilon, int | float)
        return float(epsilon)

    def with_sources(self, sources: Sequence[SourceReports], warnings: Sequence[str]) -> Self:
        """The same with reports of sources and further warnings."""
        added = {"sources": tuple(sources), "warnings": (*self.extras.warnings, *warnings)}
        return replace(self, extras=self.extras.model_copy(update=added))

    def document(self) -> dict[str, Any]:
        """As JSON has it, terms and columns in the order of the list."""
        terms = {name: self.terms[name] for name in in_order(self.terms)}
        table = {name: self.columns[name] for name in in_order(self.columns)}
        return {"kind": self.kind, "terms": terms, "table": table, "extras": self.extras.model_dump(mode="json")}

    def content(self) -> bytes:
        """JSON with columns in their order, no blanks, and the shortest digits that read back to the same number."""
        return json.dumps(self.document(), separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def ends(prefix: str, interval: tuple[float | None, float | None] | None) -> dict[str, Cell]:
    """The cells of an interval: its two ends."""
    low, high = (None, None) if interval is None else interval
    return {f"{prefix}lower": low, f"{prefix}upper": high}
