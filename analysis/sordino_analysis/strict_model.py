"""Models of what comes from outside: unknown fields are errors, but never more of them than people read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

Item = TypeVar("Item")

# A list of a million wrong numbers is one error, the first; it would otherwise be a million.
Listed = Annotated[list[Item], Field(fail_fast=True)]
# Unknown fields that a message lists.
_MOST_UNKNOWN = 3
# Letters of a value that a message shows.
_SHOWN_LETTERS = 40


class StrictModel(BaseModel):
    """Refuses fields that it does not know: up to three one by one, more of them in one error and unread."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_number_of_fields(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or len(given) <= _MOST_UNKNOWN:
            return given
        unknown = len(given) - sum(name in given for name in cls.model_fields)
        if unknown > _MOST_UNKNOWN:
            first = next(name for name in given if name not in cls.model_fields)
            raise PydanticCustomError(
                "unknown_fields",
                "{count} fields that there are not, {first} first",
                {"count": unknown, "first": repr(str(first)[:_SHOWN_LETTERS])},
            )
        return given
