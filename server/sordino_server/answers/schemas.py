"""Documents of answers as the API describes them: one schema for each kind, from the registry."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from sordino_analysis.answers.columns import Cell
from sordino_analysis.kinds.registry import kind_of_answers, kinds


def schema_of(name: str) -> type[BaseModel]:
    """The description of documents of one kind; they are read by `sordino_analysis.kinds.reading`."""
    extras = kind_of_answers(name).extras
    terms = Field(description="Cells that every answer has, by the name of their column.")
    table = Field(description="The answers as columns of one length, by name; the CSV has the same and the terms.")
    fields: dict[str, Any] = {
        "kind": (Literal[name], ...),
        "terms": (dict[str, Cell], terms),
        "table": (dict[str, list[Cell]], table),
        "extras": (extras, ...),
    }
    title = "".join(part.capitalize() for part in name.split("_"))
    schema: type[BaseModel] = create_model(f"{title}Estimate", __doc__=extras.__doc__, **fields)
    return schema


AnySeries: Any = Annotated[schema_of("series") | schema_of("string_series"), Field(discriminator="kind")]
AnyEstimate: Any = Annotated[reduce(or_, map(schema_of, kinds())), Field(discriminator="kind")]
