"""The purpose in stated languages, as an order has it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from sordino_analysis.strict_model import StrictModel
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import OwnerText


class OwnerTextTerms(StrictModel):
    """The purpose in one language; devices show their owner the text of the owner's language."""

    language: str = Field(description="BCP 47 tag, such as `de` or `pt-BR`.")
    purpose: str = Field(description="Text shown to the owner of a device, 1 to 2000 characters.")
    contact: str | None = Field(None, description="Whom to ask: 1 to 200 characters.")
    link: str | None = Field(None, description="Where to read more: `https://` and at most 200 characters.")


def texts_of(given: Sequence[OwnerTextTerms]) -> tuple[OwnerText, ...]:
    """The texts in ascending order of their languages; raises InvalidValue for one that no manifest may have."""
    found = []
    for index, each in enumerate(given):
        try:
            found.append(OwnerText(**each.model_dump()))
        except InvalidValue as error:
            raise InvalidValue(f"/texts/{index}: {error}", each) from error
    return tuple(sorted(found, key=lambda text: text.language.lower()))
