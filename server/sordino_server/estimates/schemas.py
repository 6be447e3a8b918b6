"""Estimates as JSON: one schema for each kind of question, from the registry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import WARNING_SEPARATOR, Extras, ends
from sordino_analysis.kinds.base import KindOfQuestion
from sordino_analysis.kinds.registry import kinds

__all__ = ["AnyEstimate", "Interval", "PlanDigests", "canonical_bytes", "ends", "joined"]

Interval = tuple[float, float]


class PlanDigests(BaseModel):
    """A plan by its two parts."""

    device: str
    analyst: str


def schema_of(name: str, kind: str, extras: type[Extras]) -> type[BaseModel]:
    """The description of documents of one kind."""
    terms = Field(description="Cells that every answer has, by the name of their column.")
    table = Field(description="The answers as columns of one length, by name; the CSV has the same and the terms.")
    fields: dict[str, Any] = {
        "kind": (Literal[kind], ...),
        "terms": (dict[str, Cell], terms),
        "table": (dict[str, list[Cell]], table),
        "extras": (extras, ...),
    }
    schema: type[BaseModel] = create_model(name, __doc__=extras.__doc__, **fields)
    return schema


def _schema(kind: KindOfQuestion) -> type[BaseModel]:
    return schema_of(f"{kind.name.capitalize()}Estimate", kind.name, kind.extras)


# What the API describes; documents are read by `sordino_analysis.kinds.reading`.
AnyEstimate: Any = Annotated[reduce(or_, map(_schema, kinds().values())), Field(discriminator="kind")]


def joined(warnings: Sequence[str]) -> str | None:
    """The cell of all warnings."""
    return WARNING_SEPARATOR.join(warnings) or None


def canonical_bytes(document: BaseModel) -> bytes:
    """JSON with sorted keys, no blanks, and the shortest digits that read back to the same number."""
    plain = document.model_dump(mode="json")
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
