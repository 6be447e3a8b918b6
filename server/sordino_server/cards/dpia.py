"""The template of a data protection impact assessment, filled from a card."""

from __future__ import annotations

import re
from importlib.resources import files

from sordino_server.cards.schemas import NOT_STATED, Card

TEMPLATE = "dpia.md"
_PLACE = re.compile(r"\{(\w+)\}")


def template() -> str:
    """The template, with the names of a card's fields in braces."""
    return files(__package__).joinpath(TEMPLATE).read_text("utf-8")


def filled(card: Card) -> str:
    """The template with the texts of the card; a field that the card lacks is not stated."""
    texts = {field.name: field.text for field in card.fields()}

    def of_place(found: re.Match[str]) -> str:
        name, text = found[1], texts.get(found[1], NOT_STATED)
        if name == "recipients":
            return "\n".join(f"  * {line}" for line in text.splitlines())
        # A line break or a bar would end a row of a table.
        return " ".join(text.split()).replace("|", "\\|")

    return _PLACE.sub(of_place, template())
