"""Questions that are asked of a closed round, from text: ranges, rectangles, cells, marginals and quantiles.

`delay:10..20` is a range, `delay:10..20,size:..5` or `os:linux,delay:10..20` a rectangle, `os:linux,wifi:yes` a cell or
a marginal, `delay:0.5` a quantile, `delay` a mean. `os=linux` or `delay=10..20` is a group of users that answers are
given for. Where only one attribute can be meant its name may be left out, but for a rectangle, a mean and a group. A
member whose name has a comma or a colon is written as JSON: `{"os": "a,b"}`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from sordino_analysis.questions.linear.boxes import Box, Side
from sordino_analysis.questions.linear.factors import interval_label
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.request_terms import MOST_QUESTIONS
from sordino_shared.domains import Attribute, Categorical, Domain, Hashed, Integers, Number, Ordered, Ordinal
from sordino_shared.errors import InvalidValue, OutsideDomain

BoxKind = Literal["range", "rectangle", "cell", "marginal"]
QuestionKind = BoxKind | Literal["quantile", "mean"]
QUESTION_KINDS: tuple[QuestionKind, ...] = (*get_args(BoxKind), "quantile", "mean")
# Short, so that no text is a number of millions of digits.
_NUMBER = r"-?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?"
_RANGE = re.compile(rf"({_NUMBER})?\.\.({_NUMBER})?")
# Answers that a message lists.
_SHOWN = 100


@dataclass(frozen=True)
class Quantile:
    """The least member of an ordered attribute that at least `share` of the users are at or below."""

    label: str
    attribute: int
    share: float


def parse_boxes(domain: Domain, kind: BoxKind, texts: Sequence[str]) -> tuple[Box, ...]:
    """The boxes that texts of one kind ask about; raises WorkloadError with what to write instead."""
    check_count(texts)
    parsers: dict[BoxKind, Callable[[Domain, str], Box]] = {
        "range": _range,
        "rectangle": _rectangle,
        "cell": _cell,
        "marginal": _marginal,
    }
    return tuple(parsers[kind](domain, text) for text in texts)


def parse_quantiles(domain: Domain, texts: Sequence[str]) -> tuple[Quantile, ...]:
    """The quantiles that texts ask for; raises WorkloadError with what to write instead."""
    check_count(texts)
    return tuple(_quantile(domain, text) for text in texts)


def parse_group(domain: Domain, text: str) -> Box:
    """The users that a condition such as `country=DE` or `country=DE,delay=10..20` holds.

    Raises WorkloadError with what to write instead.
    """
    sides, names = _whole(domain), [attribute.name for attribute in domain.attributes]
    given = _json_pairs(text) if text.startswith("{") else _conditions(text)
    for name, value in given:
        if name not in names:
            raise _refused(text, f"the domain has no attribute {name!r}; it has {', '.join(names)[:1000]}")
        place = names.index(name)
        sides[place] = _side_or_member(domain.attributes[place], value, text)
    if not given or tuple(sides) == tuple(_whole(domain)):
        raise _refused(text, "everybody is in the group: name an attribute and a value, as country=DE")
    return Box(box_label(domain, sides), tuple(sides))


def _conditions(text: str) -> list[tuple[str, str]]:
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(sign for _, sign, _ in pairs):
        raise _refused(text, "a group is NAME=VALUE or NAME=LOW..HIGH, with commas between, or a JSON object")
    return _distinct([(name, value) for name, _, value in pairs], text)


def _side_or_member(attribute: Attribute, value: str, text: str) -> Side:
    if isinstance(attribute, Ordered) and _RANGE.fullmatch(value):
        return _side(attribute, value, text)
    if isinstance(attribute, Number):
        raise WorkloadError(
            f"devices round {attribute.name!r}, so that no group of its numbers is told: give a category, or plan a "
            "mean_within",
            text,
        )
    code = _member(attribute, value)
    return code, code


def box_label(domain: Domain, sides: Sequence[Side]) -> str:
    """What a person reads for a box."""
    parts = []
    for attribute, (first, last) in zip(domain.attributes, sides, strict=True):
        if (first, last) == (0, attribute.size - 1):
            continue
        if first == last or not isinstance(attribute, Ordered):
            parts.append(f"{attribute.name}: {attribute.label(first)}")
        else:
            parts.append(interval_label(attribute, first, last))
    return ", ".join(parts)


def prefix_box(domain: Domain, attribute: int, last: int) -> Box:
    """The members of an ordered attribute up to `last`."""
    sides = _whole(domain)
    sides[attribute] = (0, last)
    return Box(box_label(domain, sides), tuple(sides))


def unnamed_prefixes(domain: Domain, attribute: int, count: int) -> list[Box]:
    """The first `count` prefixes of an ordered attribute without labels, which take longer than the answers to many."""
    whole = _whole(domain)
    return [Box("", (*whole[:attribute], (0, last), *whole[attribute + 1 :])) for last in range(count)]


def check_count(texts: Sequence[str]) -> None:
    """Raise WorkloadError for no question, and for more than are answered at a time."""
    if not 1 <= len(texts) <= MOST_QUESTIONS:
        raise WorkloadError(f"ask 1 to {MOST_QUESTIONS} questions at a time, not {len(texts)}", len(texts))


def _range(domain: Domain, text: str) -> Box:
    place, attribute, rest = _ordered(domain, text)
    sides = _whole(domain)
    sides[place] = _side(attribute, rest, text)
    return Box(box_label(domain, sides), tuple(sides))


def _rectangle(domain: Domain, text: str) -> Box:
    sides = _whole(domain)
    given = _pairs(domain, text)
    names = {attribute.name: place for place, attribute in enumerate(domain.attributes)}
    if not any(isinstance(domain.attributes[names[name]], Ordered) for name, _ in given if name in names):
        raise _refused(text, "name at least one ordered attribute, as delay:10..20,size:..5 or os:linux,delay:10..20")
    for name, span in given:
        if name not in names:
            raise _refused(text, f"the domain has no attribute {name!r}; it has {', '.join(names)[:1000]}")
        attribute = domain.attributes[names[name]]
        if isinstance(attribute, Ordered):
            sides[names[name]] = _side(attribute, span, text)
        else:
            code = _member(attribute, span)
            sides[names[name]] = (code, code)
    return Box(box_label(domain, sides), tuple(sides))


def _side(attribute: Ordered, span: str, text: str) -> Side:
    """First and last member of LOW..HIGH, which holds some of them and not all."""
    found = _RANGE.fullmatch(span)
    if not found or found.groups() == (None, None):
        raise _refused(text, "a range is LOW..HIGH, as 10..20, 10.. or ..20, after the attribute's name and a colon")
    low, high = found.groups()
    side = _ends(attribute, low, high, text)
    if side == (0, attribute.size - 1):
        raise _refused(text, f"every value of attribute {attribute.name!r} is in the range")
    return side


def _ends(attribute: Ordered, low: str | None, high: str | None, text: str) -> Side:
    if isinstance(attribute, Integers):
        first = 0 if low is None else _integer(attribute, low, text)
        last = attribute.bins - 1 if high is None else _integer(attribute, high, text)
    else:
        first = 0 if low is None else _edge(attribute, low, text) + 1
        last = attribute.bins - 1 if high is None else _edge(attribute, high, text)
    if first > last:
        raise _refused(text, "the range is empty: its first number must be the lower one")
    return first, last


def _integer(attribute: Integers, number: str, text: str) -> int:
    value = Fraction(number)
    if value.denominator != 1 or not attribute.low <= value <= attribute.high:
        raise _refused(
            text,
            f"attribute {attribute.name!r} holds whole numbers from {attribute.low} to {attribute.high}, not {number}",
        )
    return int(value) - attribute.low


def _edge(attribute: Ordinal, number: str, text: str) -> int:
    """The number of the bin that ends at an edge."""
    bin_ = attribute.encode(float(number), strict=True)
    near = [attribute.cut(j) for j in (bin_ - 1, bin_) if 0 <= j < attribute.bins - 1]
    if bin_ == attribute.bins - 1 or float(attribute.cut(bin_)) != float(number):
        raise _refused(text, f"{number} is no edge of attribute {attribute.name!r}: the nearest are {', '.join(near)}")
    return bin_


def _cell(domain: Domain, text: str) -> Box:
    if len(domain.attributes) == 1:
        code = _member(domain.attributes[0], text)
        return Box(box_label(domain, [(code, code)]), ((code, code),))
    box = _marginal(domain, text)
    if missing := [a.name for a, (first, last) in zip(domain.attributes, box.sides, strict=True) if first != last]:
        raise _refused(text, f"a cell has a value of every attribute, and {missing[0]!r} has none: ask for a marginal")
    return box


def _marginal(domain: Domain, text: str) -> Box:
    sides, names = _whole(domain), [attribute.name for attribute in domain.attributes]
    given = _pairs(domain, text)
    if not given:
        raise _refused(text, "name at least one attribute, as os:linux or os:linux,wifi:yes")
    for name, member in given:
        if name not in names:
            raise _refused(text, f"the domain has no attribute {name!r}; it has {', '.join(names)[:1000]}")
        place = names.index(name)
        code = _member(domain.attributes[place], member)
        sides[place] = (code, code)
    return Box(box_label(domain, sides), tuple(sides))


def _pairs(domain: Domain, text: str) -> list[tuple[str, str]]:
    if text.startswith("{"):
        return _json_pairs(text)
    pairs = []
    for part in text.split(","):
        name, colon, member = part.partition(":")
        if not colon:
            raise _refused(text, "write NAME:VALUE for each attribute, with commas between, or a JSON object")
        pairs.append((name, member))
    return _distinct(pairs, text)


def _json_pairs(text: str) -> list[tuple[str, str]]:
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        raise _refused(text, "what begins with { must be a JSON object of names and values") from None
    if not all(isinstance(member, str | int | float) and not isinstance(member, bool) for _, member in pairs):
        raise _refused(text, "the values of the JSON object must be texts or numbers")
    return _distinct([(name, str(member)) for name, member in pairs], text)


def _distinct(pairs: list[tuple[str, str]], text: str) -> list[tuple[str, str]]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise _refused(text, "an attribute is named twice")
    return pairs


def _member(attribute: Attribute, text: str) -> int:
    """The index of the member that a text names: a label, a number, or the text that is hashed."""
    beyond = {attribute.label(index): index for index in range(attribute.listed, attribute.size)}
    if not isinstance(attribute, Hashed) and text in beyond:
        return beyond[text]
    value: object = text
    if isinstance(attribute, Ordered):
        if not re.fullmatch(_NUMBER, text):
            raise _refused(text, f"attribute {attribute.name!r} holds numbers")
        value = Fraction(text)
    try:
        return attribute.encode(value, strict=True)
    except OutsideDomain as error:
        raise _refused(text, _outside(attribute, error)) from error


def _outside(attribute: Attribute, error: InvalidValue) -> str:
    if isinstance(attribute, Categorical):
        return f"attribute {attribute.name!r} has {', '.join(attribute.labels[:20])}"[:1000]
    return str(error)


def _quantile(domain: Domain, text: str) -> Quantile:
    place, attribute, rest = _ordered(domain, text)
    share = float(rest) if re.fullmatch(_NUMBER, rest) else math.nan
    if not 0 < share < 1:
        raise _refused(text, "a quantile lies between 0 and 1 and is neither, as 0.5 for the median")
    return Quantile(f"{rest} quantile of {attribute.name}", place, share)


def _ordered(domain: Domain, text: str) -> tuple[int, Ordered, str]:
    """(place, attribute, what follows its name) of the ordered attribute that a text is about."""
    ordered = [(place, a) for place, a in enumerate(domain.attributes) if isinstance(a, Ordered)]
    if not ordered:
        other = "a mean, or plan the quantile" if any(isinstance(a, Number) for a in domain.attributes) else "cells"
        raise _refused(
            text, f"ranges and quantiles need an ordered attribute, and the domain has none: ask for {other}"
        )
    name, colon, rest = text.rpartition(":")
    if not colon:
        if len(ordered) > 1:
            raise _refused(text, f"name one of the ordered attributes {', '.join(a.name for _, a in ordered)}"[:1000])
        return *ordered[0], rest
    for place, attribute in ordered:
        if attribute.name == name:
            return place, attribute, rest
    raise _refused(
        text, f"the domain has no ordered attribute {name!r}; it has {', '.join(a.name for _, a in ordered)}"
    )


def _whole(domain: Domain) -> list[Side]:
    return [(0, size - 1) for size in domain.shape]


def _refused(text: str, reason: str) -> WorkloadError:
    return WorkloadError(f"{text[:_SHOWN]!r}: {reason}", text)
