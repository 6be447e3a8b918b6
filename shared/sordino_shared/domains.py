"""Domains: products of categorical and ordinal attributes; what a device may hold, and how it becomes an index.

The size k of a domain is the product of its attributes' sizes and may be far too large for a dense table.
Cells are numbered in C order: the last attribute varies fastest.

Silence must not speak. A device that holds a value answers whatever the value is. In production a number written as
text is read, what is no number is `missing` where an ordinal attribute has that member, and a value that is not listed
becomes `other` where there is one, else the attribute's first member. Where `strict` (the app's tests) each of these
raises `OutsideDomain`, whatever members there are: it is a mistake of the app, or of the domain.
How a value is passed is the app's doing and no secret: `check_shape` refuses shapes and names other than the domain's.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, TypeGuard

import numpy as np
from numpy.typing import NDArray

from sordino_shared._checks import (
    MAX_NAME,
    check_distinct,
    check_increasing,
    check_length,
    check_name,
    check_range,
    finite_float,
)
from sordino_shared.errors import InvalidValue, OutsideDomain

MISSING = "missing"
OTHER = "other"
_FIXED_MEMBER = 0
# Labels travel to every device; half of what a document may hold in items.
MAX_MEMBERS = 1 << 19
MAX_CELLS = 1 << 62
_BLANKS = " \t\r\n"
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Categorical:
    """Unordered labels, then `missing` and `other` where the attribute has them."""

    kind: ClassVar[str] = "categorical"
    name: str
    categories: tuple[str, ...]
    missing: bool = False
    other: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "attribute name")
        for category in self.categories:
            check_name(category, "category")
        check_distinct(self.labels, f"members of attribute {self.name!r}")
        if not self.labels:
            raise InvalidValue(f"attribute {self.name!r} has no members", self.name)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every member in index order."""
        return self.categories + _trailing_members(self.missing, self.other)

    @property
    def size(self) -> int:
        return len(self.labels)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {category: index for index, category in enumerate(self.categories)}

    @property
    def listed(self) -> int:
        """Number of members before `missing` and `other`."""
        return len(self.categories)

    def encode(self, value: object, *, strict: bool) -> int:
        """Index of `value`; see the module's text for what an unlisted one becomes."""
        position = self._positions.get(value) if isinstance(value, str) else None
        if position is not None:
            return position
        return _unlisted(self, value, strict)


@dataclass(frozen=True)
class Ordinal:
    """Bins of a real line cut at `edges`: bin j holds edges[j−1] < value ≤ edges[j].

    The first and the last bin are unbounded, so every number has a bin: what lies outside the edges falls into one
    of the two. `missing` and `other` follow the bins and are not ordered. `unit` is for people.
    """

    kind: ClassVar[str] = "ordinal"
    name: str
    edges: tuple[float, ...]
    unit: str = ""
    missing: bool = False
    other: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "attribute name")
        check_length(self.unit, 0, MAX_NAME, "unit")
        if self.unit:
            check_name(self.unit, "unit")
        what = f"edges of attribute {self.name!r}"
        object.__setattr__(self, "edges", tuple(finite_float(edge, what) for edge in self.edges))
        check_increasing(self.edges, what)

    @property
    def bins(self) -> int:
        """Number of ordered members: one more than there are edges."""
        return len(self.edges) + 1

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every member in index order; bins as intervals in the attribute's unit."""
        if not self.edges:
            return ("any", *_trailing_members(self.missing, self.other))
        texts = [_edge_text(edge) for edge in self.edges]
        inner = (f"({a}, {b}]" for a, b in pairwise(texts))
        return (f"≤ {texts[0]}", *inner, f"> {texts[-1]}", *_trailing_members(self.missing, self.other))

    @property
    def size(self) -> int:
        return self.bins + self.missing + self.other

    @property
    def listed(self) -> int:
        """Number of members before `missing` and `other`."""
        return self.bins

    def encode(self, value: object, *, strict: bool) -> int:
        """Bin of a number; see the module's text for what anything else becomes."""
        number = _number(value)
        if number is None and not strict:
            number = _written_number(value)
        if number is not None:
            return bisect_left(self.edges, number)
        if self.missing and not strict:
            return self.bins
        return _unlisted(self, value, strict)


Attribute = Categorical | Ordinal


def _trailing_members(missing: bool, other: bool) -> tuple[str, ...]:
    return (MISSING,) * missing + (OTHER,) * other


def _edge_text(edge: float) -> str:
    short = f"{edge:g}"
    return short if float(short) == edge else repr(edge)


def _number(value: object) -> int | float | Fraction | None:
    """A number that compares exactly with floats, whatever its size; None for what is no number."""
    if isinstance(value, (bool, np.bool_)) or _is_missing(value):
        return None
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, (np.floating, Decimal)):
        return float(value)
    return value if isinstance(value, (int, float, Fraction)) else None


def _written_number(value: object) -> float | None:
    """The double nearest to a decimal number written in ASCII, blanks around it aside; None for other text."""
    if not isinstance(value, str):
        return None
    text = value.strip(_BLANKS)
    return float(text) if _DECIMAL.fullmatch(text) else None


def _is_missing(value: object) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value))


def _unlisted(attribute: Attribute, value: object, strict: bool) -> int:
    if attribute.missing and _is_missing(value):
        return attribute.listed
    if strict:
        becomes = f"it counts as `{OTHER}`" if attribute.other else "list it, or give the attribute `other: true`"
        raise OutsideDomain(
            f"attribute {attribute.name!r} does not list {value!r}, a {type(value).__name__}: {becomes}",
            value,
            attribute.name,
        )
    return attribute.listed + attribute.missing if attribute.other else _FIXED_MEMBER


@dataclass(frozen=True)
class Domain:
    """The product of its attributes; `size` is k."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not self.attributes:
            raise InvalidValue("a domain needs at least one attribute")
        check_distinct([attribute.name for attribute in self.attributes], "attribute names")
        if self.size < 2:
            raise InvalidValue("a domain of one member has nothing to tell: give it at least two", self.attributes)
        if self.size > MAX_CELLS:
            raise InvalidValue("a domain may have at most 2^62 cells", self.attributes)
        if sum(self.shape) > MAX_MEMBERS:
            raise InvalidValue(
                f"the attributes of a domain have {sum(self.shape)} members, at most {MAX_MEMBERS} can be listed: "
                "merge bins or labels",
                self.attributes,
            )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the attributes."""
        return tuple(attribute.size for attribute in self.attributes)

    @cached_property
    def size(self) -> int:
        """k, the number of cells."""
        return math.prod(self.shape)

    def label(self, cell: int) -> str:
        """What a person reads for a cell."""
        rest = int(cell)
        check_range(rest, 0, self.size - 1, "cell")
        parts: list[str] = []
        for attribute in reversed(self.attributes):
            rest, index = divmod(rest, attribute.size)
            parts.append(attribute.labels[index])
        return " · ".join(reversed(parts))

    def check_shape(self, value: object) -> None:
        """Raise `InvalidValue` unless a value comes in a shape that `encode` reads, whatever its attributes hold.

        A name that is left out, or None for the whole, is an attribute that is missing. The error holds and quotes
        nothing of the value, for it may end up in a crash report.
        """
        if isinstance(value, Mapping):
            if not value.keys() <= set(self._names):
                raise InvalidValue(f"the value names an attribute that the domain does not have; it has {self._names}")
        elif len(self._names) > 1 and value is not None and not self._is_sequence(value):
            raise InvalidValue(f"give a mapping by name, or a list or tuple with one value for each of {self._names}")

    def encode(self, value: object, *, strict: bool = False) -> int:
        """Cell of a value: a scalar where there is one attribute, else a mapping by name or a list or tuple in order.

        Every value has a cell unless `strict`: one of another shape counts as missing, `check_shape` tells.
        """
        if strict:
            self.check_shape(value)
        parts = self._parts(value)
        codes = (a.encode(part, strict=strict) for a, part in zip(self.attributes, parts, strict=True))
        cell = 0
        for size, code in zip(self.shape, codes, strict=True):
            cell = cell * size + code
        return cell

    def coerced(self, value: object) -> dict[str, str]:
        """What becomes of each attribute that `strict` refuses, by its name; nothing of the value but its type."""
        return {
            attribute.name: _coercion(attribute, part)
            for attribute, part in zip(self.attributes, self._parts(value), strict=True)
            if _refused(attribute, part)
        }

    def encode_many(self, values: Sequence[object], *, strict: bool = False) -> NDArray[np.int64]:
        """(n,) cells of many values."""
        return np.fromiter((self.encode(value, strict=strict) for value in values), dtype=np.int64, count=len(values))

    def _parts(self, value: object) -> Sequence[object]:
        if isinstance(value, Mapping):
            return [value.get(name) for name in self._names]
        if len(self._names) == 1:
            return [value]
        return value if self._is_sequence(value) else [None] * len(self._names)

    def _is_sequence(self, value: object) -> TypeGuard[Sequence[object]]:
        return isinstance(value, (tuple, list)) and len(value) == len(self._names)

    @cached_property
    def _names(self) -> list[str]:
        return [attribute.name for attribute in self.attributes]


def _refused(attribute: Attribute, value: object) -> bool:
    try:
        attribute.encode(value, strict=True)
    except OutsideDomain:
        return True
    return False


def _coercion(attribute: Attribute, value: object) -> str:
    index, found = attribute.encode(value, strict=False), type(value).__name__
    if index >= attribute.listed:
        return f"{found} counts as {attribute.labels[index]}"
    if _written_number(value) is not None and attribute.kind == Ordinal.kind:
        return f"{found} is read as a number"
    return f"{found} counts as the first member"
