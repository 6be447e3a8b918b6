"""Every integer and text of the protocol's tables has a range, and it is the range that constructors enforce.

For each field of each structure in the good vectors the page's range is read, with the names in it replaced by the
values of that document. One past either end must be refused with the page's own numbers, and each end must not be.
"""

from __future__ import annotations

import dataclasses
import html
import re
import types
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Document

ENDS = re.compile(r"(?:an integer|text) (?:from |of )(-?\d+) to (-?\d+)")
Row = tuple[str, str]


@pytest.fixture(scope="module")
def page(repository: Path) -> dict[Row, str]:
    """The cell `range` by structure and field."""
    found: dict[Row, str] = {}
    heading = ""
    for line in (repository / "docs" / "protocol.md").read_text("utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ").strip("`")
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if len(cells) == 6 and cells[1].startswith("`"):
            found[heading, cells[1].strip("`")] = html.unescape(cells[3])
    return found


def values_in(value: Any) -> Iterator[Any]:
    """Every dataclass value inside a document, itself first."""
    if dataclasses.is_dataclass(value):
        yield value
        for field in dataclasses.fields(value):
            yield from values_in(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from values_in(item)


@pytest.fixture(scope="module")
def examples(
    good_contents: list[tuple[str, bytes]], document_types: dict[str, type[Document]]
) -> dict[type, list[Any]]:
    """Values of every structure by its type."""
    found: dict[type, list[Any]] = {}
    for name, content in good_contents:
        for value in values_in(document_types[name].read(content)):
            found.setdefault(type(value), []).append(value)
    return found


def name_of(kind: type) -> str:
    return getattr(kind, "document", None) or getattr(kind, "kind", None) or kind.__name__


def scalar(hint: Any) -> Any:
    """The integer, text or enumeration that a field holds, alone, in an array, or null; None for anything else."""
    if get_origin(hint) is tuple:
        return scalar(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        members = [argument for argument in get_args(hint) if argument is not type(None)]
        return scalar(members[0]) if len(members) == 1 else None
    return hint if hint in (int, str) or (isinstance(hint, type) and issubclass(hint, Enum)) else None


def fields_of(examples: dict[type, list[Any]]) -> Iterator[tuple[type, str, Any]]:
    for kind in examples:
        hints = get_type_hints(kind)
        for field in dataclasses.fields(kind):
            if scalar(hints[field.name]) is not None:
                yield kind, field.name, hints[field.name]


def number(text: str, value: Any) -> int:
    """The end of a range, such as 2^32 − 1 or len(shape), for one document."""
    code = text.replace(",", "").replace("−", "-").replace("^", "**")
    code = re.sub(r"⌊(.*)/(.*)⌋", r"(\1)//(\2)", code)
    assert re.fullmatch(r"[\w+*/() -]+", code), text
    names = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    found = eval(code, {"len": len, "__builtins__": {}}, names)
    assert isinstance(found, int)
    return found


def ends(cell: str, value: Any) -> tuple[int, int]:
    low, high = cell.removesuffix(" characters").removesuffix(" of them").split(" to ")
    return number(low, value), number(high, value)


def refused(value: Any, field: str, wrong: Any) -> tuple[int, int] | None:
    """The range that the constructor names when it refuses; None where it says something else or takes the value."""
    try:
        dataclasses.replace(value, **{field: wrong})
    except InvalidValue as error:
        named = ENDS.search(str(error))
        return None if named is None else (int(named[1]), int(named[2]))
    return None


def put(value: Any, field: str, element: Any) -> Any:
    """The field's value with `element` for its first element, or for itself."""
    there = getattr(value, field)
    return (element, *there[1:]) if isinstance(there, tuple) else element


def alone(value: Any, field: str, element: Any) -> Any:
    """As `put`, with an array of this one element: a product of several may be too large."""
    return (element,) if isinstance(getattr(value, field), tuple) else element


def test_every_integer_and_text_has_a_range(page: dict[Row, str], examples: dict[type, list[Any]]) -> None:
    without = [(name_of(kind), field) for kind, field, _ in fields_of(examples) if not page[name_of(kind), field]]
    assert not without


def test_the_examples_hold_every_structure(page: dict[Row, str], examples: dict[type, list[Any]]) -> None:
    named = {heading for heading, _ in page}
    assert named == {name_of(kind) for kind in examples if dataclasses.fields(kind)}


def test_ranges_are_those_that_constructors_enforce(page: dict[Row, str], examples: dict[type, list[Any]]) -> None:
    tried = 0
    for kind, field, hint in fields_of(examples):
        cell = page[name_of(kind), field]
        if "`" in cell:
            continue
        count, _, element = cell.rpartition(" of ") if not cell.endswith("of them") else (cell, "", "")
        for value in examples[kind]:
            there = getattr(value, field)
            if there is None or there == ():
                continue
            if count:
                low, high = ends(count, value)
                long = there * (high + 1)
                assert refused(value, field, long[: high + 1]) == (low, high), (kind, field)
                assert refused(value, field, there[: low - 1]) == (low, high), (kind, field)
            if element:
                low, high = ends(element, value)
                text = scalar(hint) is str
                wrong = ["x" * (high + 1), *(["x" * (low - 1)] if low else [])] if text else [low - 1, high + 1]
                right = ["x" * low, "x" * high] if text else [low, high]
                for each in wrong:
                    assert refused(value, field, put(value, field, each)) == (low, high), (kind, field, each, value)
                for each in right:
                    assert refused(value, field, alone(value, field, each)) != (low, high), (kind, field, each)
                tried += 1
    assert tried > 100


def test_counts_of_structures_are_those_that_constructors_enforce(
    page: dict[Row, str], examples: dict[type, list[Any]]
) -> None:
    counted = [(heading, field, cell) for (heading, field), cell in page.items() if cell.endswith(" of them")]
    assert {(heading, field) for heading, field, _ in counted} >= {("manifest", "rounds"), ("task", "device_parts")}
    kinds = {name_of(kind): kind for kind in examples}
    for heading, field, cell in counted:
        value = max(examples[kinds[heading]], key=lambda each: len(getattr(each, field)))
        low, high = ends(cell, value)
        there = getattr(value, field)
        for wrong in ((there * (high + 1))[: high + 1], *([there[: low - 1]] if low else [])):
            assert refused(value, field, wrong) == (low, high), (heading, field)


def test_names_in_a_range_are_the_ones_there_are(page: dict[Row, str], examples: dict[type, list[Any]]) -> None:
    for kind, field, hint in fields_of(examples):
        listed = set(re.findall(r"`([^`]+)`|<code>(.+?)</code>", page[name_of(kind), field]))
        if not listed:
            continue
        names = {one or other for one, other in listed}
        member = scalar(hint)
        if issubclass(member, Enum):
            assert names == {each.value for each in member}
        else:
            value = examples[kind][0]
            with pytest.raises(InvalidValue) as raised:
                dataclasses.replace(value, **{field: "other"})
            assert set(re.findall(r"'([^']+)'", str(raised.value))) == names | {"other"}
