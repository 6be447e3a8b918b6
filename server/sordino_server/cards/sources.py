"""Fields taken from documents of the API: each number of a card is one of the API's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sordino_server.cards.schemas import NOT_STATED, CardField
from sordino_shared.guarantees import NANO


def plain(value: Any) -> str:
    """The value as text."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@dataclass(frozen=True)
class Sources:
    """JSON documents of the API by their names: manifest, status, plan, population, dataset."""

    documents: Mapping[str, Any]

    def at(self, source: str) -> Any:
        """The value at `document:/json/pointer`; None where a step of the way is missing."""
        document, _, pointer = source.partition(":")
        found = self.documents.get(document)
        for step in pointer.split("/")[1:]:
            if isinstance(found, list):
                found = found[int(step)] if int(step) < len(found) else None
            else:
                found = None if found is None else found.get(step)
        return found

    def field(
        self, name: str, title: str, source: str, text: Callable[[Any], str] = plain, none: str | None = None
    ) -> CardField:
        """The field of a value of the API; where there is none, `none` in words, or not stated.

        A pointer that ends with `nano` is shown as ε: a billionth of the whole number there.
        """
        found = self.at(source)
        if found is None or found in ("", []):
            return said(name, title, none) if none is not None else not_stated(name, title)
        value = found / NANO if source.endswith("/nano") else found
        return CardField(name=name, title=title, value=value, text=text(value), source=source)


def said(name: str, title: str, text: str, value: Any = None, source: str = "sordino") -> CardField:
    """A field that the software, its settings or a proof states."""
    return CardField(name=name, title=title, value=value, text=text, source=source)


def not_stated(name: str, title: str, advice: str = "") -> CardField:
    """A field that nothing states."""
    text = f"{NOT_STATED}; {advice}" if advice else NOT_STATED
    return CardField(name=name, title=title, value=None, text=text, source=None)
