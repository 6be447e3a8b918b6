"""What a person picked on the page of answers, as the texts of questions, and the same questions as code to copy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino_analysis.questions.linear.on_demand import BoxKind, QuestionKind, parse_boxes
from sordino_shared.domains import Attribute, Categorical, Domain, Number, Ordered, Ordinal

KINDS: dict[QuestionKind, str] = {
    "range": "share in a range, as 10..20, 10.. or ..20",
    "rectangle": "share in ranges of several attributes",
    "cell": "share of a value of every attribute",
    "marginal": "share of values of some attributes",
    "quantile": "quantile, as 0.5 for the median",
    "mean": "mean of the numbers of an attribute",
}
# More values of an attribute are not suggested.
_MOST_SUGGESTED = 100
# A matrix of more cells is no text that a person copies.
_MOST_CELLS = 512


@dataclass(frozen=True)
class PickedAttribute:
    """An attribute that a question may be about, what was picked of it, and what may be picked."""

    name: str
    unit: str
    picked: str
    suggestions: tuple[str, ...]


def attributes_of(domain: Domain, kind: QuestionKind, picks: Sequence[str]) -> list[PickedAttribute]:
    """The attributes of a domain in order with the picks of each."""
    padded = [*picks, *[""] * len(domain.attributes)]
    return [
        PickedAttribute(each.name, getattr(each, "unit", "") or "", padded[place], _suggestions(each, kind))
        for place, each in enumerate(domain.attributes)
    ]


def composed(domain: Domain, kind: QuestionKind, picks: Sequence[str]) -> tuple[str, ...]:
    """The question about what was picked of each attribute, none where nothing was; a mean of each that was."""
    pairs = [
        (attribute.name, pick.strip())
        for attribute, pick in zip(domain.attributes, picks, strict=False)
        if pick.strip()
    ]
    if kind == "mean" or not pairs:
        return tuple(name for name, _ in pairs)
    if len(pairs) > 1 and any(mark in text for pair in pairs for text in pair for mark in ",:{"):
        return (json.dumps(dict(pairs), ensure_ascii=False),)
    return (",".join(f"{name}:{pick}" for name, pick in pairs),)


def _suggestions(attribute: Attribute, kind: QuestionKind) -> tuple[str, ...]:
    if kind == "mean":
        return ("mean",) if isinstance(attribute, (Ordered, Number)) else ()
    if kind == "quantile":
        return ("0.25", "0.5", "0.75", "0.9") if isinstance(attribute, Ordered) else ()
    if isinstance(attribute, Ordinal) and kind in ("range", "rectangle"):
        return tuple(f"..{attribute.cut(place)}" for place in range(min(attribute.bins - 1, _MOST_SUGGESTED)))
    if isinstance(attribute, Categorical):
        return tuple(attribute.label(member) for member in range(min(attribute.size, _MOST_SUGGESTED)))
    return ()


def as_curl(address: str, kind: str, questions: Sequence[str], given: str | None = None) -> str:
    """A command that asks the API the same, of a group where one is `given`; the key is in the environment."""
    pairs = [*((kind, text) for text in questions), *([] if given is None else [("given", given)])]
    asked = " \\\n  ".join(f"--data-urlencode {shlex.quote(f'{name}={text}')}" for name, text in pairs)
    return f'curl --get {shlex.quote(address)} \\\n  -H "Authorization: Bearer $SORDINO_KEY" \\\n  {asked}'


def as_python(address: str, kind: str, questions: Sequence[str], given: str | None = None) -> str:
    """A program that asks the API the same, of a group where one is `given`; the key is in the environment."""
    asked = {kind: list(questions)} | ({} if given is None else {"given": given})
    return f"""import os

import httpx

answers = httpx.get(
    {address!r},
    params={asked!r},
    headers={{"Authorization": f"Bearer {{os.environ['SORDINO_KEY']}}"}},
).raise_for_status().json()"""


def as_yaml(
    name: str, specification: dict[str, Any], domain: Domain, kind: QuestionKind, questions: Sequence[str]
) -> str:
    """A workload whose queries are these questions, for a campaign that asks nothing else; empty where it has none."""
    if kind == "quantile" or kind == "mean" or domain.size > _MOST_CELLS:
        return ""
    box_kind: BoxKind = kind
    boxes = parse_boxes(domain, box_kind, questions)
    lines = [f"name: {_text(name)}", "domain:"]
    lines += [f"  - {_text(attribute)}" for attribute in specification["domain"]]
    lines += ["queries:", "  matrix:"]
    for box in boxes:
        row = np.zeros(domain.shape, dtype=int)
        row[tuple(slice(first, last + 1) for first, last in box.sides)] = 1
        lines.append(f"    - {_text(row.ravel().tolist())}")
    return "\n".join([*lines, f"  labels: {_text([box.label for box in boxes])}", ""])


def _text(value: object) -> str:
    """JSON, which is YAML too."""
    return json.dumps(value, ensure_ascii=False)
