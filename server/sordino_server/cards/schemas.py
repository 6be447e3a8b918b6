"""A card as JSON: parts of named fields, each with the value, a sentence, and where the value comes from."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

NOT_STATED = "not stated"


class CardField(BaseModel):
    """One answer; `value` is null where nothing states it, or where there is none, which `text` then says."""

    name: str = Field(description="Its name, unique in the card.")
    title: str
    value: str | int | float | bool | list[Any] | dict[str, Any] | None
    text: str = Field(description=f"The value in words; `{NOT_STATED}` where nothing states it.")
    source: str | None = Field(
        description="A document of the API and the JSON pointer of the value in it, as in `status:/epsilon`; the "
        "server's `settings`; `sordino`, what the software does; `proof`, recomputed by the server; `log`, its public "
        "log; null where nothing states it."
    )

    @property
    def stated(self) -> bool:
        """Whether something states it."""
        return self.source is not None


class CardPart(BaseModel):
    """Fields about one thing."""

    name: str
    title: str
    fields: list[CardField]


class Card(BaseModel):
    """The card of a campaign or of a dataset. It has no personal data and may be published."""

    version: Literal[1] = 1
    subject: Literal["campaign", "dataset"]
    id: str
    name: str
    parts: list[CardPart]

    def fields(self) -> list[CardField]:
        """All fields in order."""
        return [field for part in self.parts for field in part.fields]

    def without(self, *parts: str) -> Card:
        """The card less the parts of these names."""
        return self.model_copy(update={"parts": [part for part in self.parts if part.name not in parts]})
