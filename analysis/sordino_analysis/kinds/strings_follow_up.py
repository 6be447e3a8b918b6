"""From a list of common strings to a closed question about them, which other devices are asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.kinds.strings import StringExtras, certified_rows
from sordino_analysis.strings.labels import legible, text_of
from sordino_shared.domains import Categorical
from sordino_shared.errors import InvalidValue

# As those of every workload.
_MOST_NAME = 200
_ENDING = ": found strings"


@dataclass(frozen=True)
class LeftOut:
    """A string of the list that is no category, as the list shows it, and why."""

    label: str
    reason: str


@dataclass(frozen=True)
class FollowUp:
    """A workload as it is written: a histogram of the strings of a list, and which of them it leaves out."""

    workload: dict[str, Any]
    left_out: tuple[LeftOut, ...]

    def yaml(self) -> str:
        """The workload as a file, a line for each category."""
        (attribute,) = self.workload["domain"]
        lines = [f"name: {_text(self.workload['name'])}", "domain:", f"  - name: {_text(attribute['name'])}"]
        lines += ["    kind: categorical", "    labels:"]
        lines += [f"      - {_text(label)}" for label in attribute["labels"]]
        return "\n".join([*lines, "    missing: true", "    other: true", "queries: histogram", ""])


def follow_up(estimate: EstimateDocument, attribute: str) -> FollowUp:
    """The histogram of the certified strings of an estimate, of no value and of others; `attribute` names it.

    Raises InvalidValue for an estimate of something else, and where no string of the list can be a category.
    """
    if not isinstance(estimate.extras, StringExtras):
        raise InvalidValue("the campaign collects no strings: there is no list to ask about", estimate.kind)
    categories, left_out = list[str](), list[LeftOut]()
    for label, text, reason in _judged(estimate, attribute):
        if reason:
            left_out.append(LeftOut(label, reason))
        elif text is not None:
            categories.append(text)
    if not categories:
        raise InvalidValue("no string is listed that can be a category, so there is nothing to ask for", attribute)
    domain = [{"name": attribute, "kind": "categorical", "labels": categories, "missing": True, "other": True}]
    name = f"{estimate.extras.workload[: _MOST_NAME - len(_ENDING)]}{_ENDING}"
    return FollowUp({"name": name, "domain": domain, "queries": "histogram"}, tuple(left_out))


def _judged(estimate: EstimateDocument, attribute: str) -> Iterator[tuple[str, str | None, str]]:
    """Each row's label, its text if it is a whole string, and why it is no category."""
    table = estimate.table
    rows = zip(table.cells("kind"), table.cells("label"), certified_rows(table), strict=True)
    for kind, label, certified in rows:
        shown = str(label)
        if kind == "no text":
            # Those devices answer that it is missing.
            yield shown, None, ""
        elif not certified:
            # Devices read what they are asked about, and nothing of what is watched.
            yield shown, None, "it is watched, and not certified"
        elif kind != "string":
            yield shown, None, "its code is cut, so that its end is not known: collect more bits of code"
        else:
            yield shown, text_of(shown), _why_not(attribute, text_of(shown))


def _why_not(attribute: str, text: str) -> str:
    try:
        Categorical(attribute, (text,), missing=True, other=True)
    except InvalidValue as error:
        return str(error)
    return ""


def _text(value: object) -> str:
    """JSON, which is YAML too; what JSON has as it is and YAML does not, or what no reader sees, by its number."""
    return "".join(_written(each) for each in json.dumps(value, ensure_ascii=False))


def _written(character: str) -> str:
    return character if legible(character) == character else f"\\U{ord(character):08X}"
