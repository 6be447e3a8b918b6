"""A product of attributes: how a value becomes indices, and a cell where cells are numbered."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TypeGuard

from sordino_shared._checks import check_distinct, check_range
from sordino_shared._records import dataclass, replace
from sordino_shared.domains.categorical import Categorical
from sordino_shared.domains.hashed import SALT_BYTES, Hashed
from sordino_shared.domains.indicator import Indicator
from sordino_shared.domains.integers import Integers
from sordino_shared.domains.members import MAX_MEMBERS, NEED_NO_LIST
from sordino_shared.domains.number import Number
from sordino_shared.domains.numbers import exact_number, written_number
from sordino_shared.domains.ordinal import Ordinal
from sordino_shared.domains.strings import Text, TextPrefix, check_strings
from sordino_shared.errors import InvalidValue, OutsideDomain
from sordino_shared.randomness import Randomness

MAX_CELLS = 1 << 62

MAX_ATTRIBUTES = 255

Ordered = Ordinal | Integers
Attribute = Categorical | Ordered | Hashed | Indicator | Number | Text | TextPrefix


@dataclass(frozen=True)
class Domain:
    """The product of its attributes; `size` is k."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not self.attributes:
            raise InvalidValue("a domain needs at least one attribute")
        check_range(len(self.attributes), 1, MAX_ATTRIBUTES, "number of attributes")
        check_distinct([attribute.name for attribute in self.attributes], "attribute names")
        check_strings(self.attributes)
        if self.size < 2:
            raise InvalidValue("a domain of one member has nothing to tell: give it at least two", self.attributes)
        entries = sum(attribute.entries for attribute in self.attributes)
        if entries > MAX_MEMBERS:
            many = f"the attributes of a domain have {entries} members, at most {MAX_MEMBERS} can be listed"
            raise InvalidValue(f"{many}: {NEED_NO_LIST}", self.attributes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the attributes."""
        return tuple(attribute.size for attribute in self.attributes)

    @cached_property
    def size(self) -> int:
        """k, the number of cells."""
        return math.prod(self.shape)

    @property
    def ordered(self) -> tuple[int, ...]:
        """How many ordered members each attribute has; 0 where they have no order."""
        return tuple(a.bins if isinstance(a, (Ordered, Number)) else 0 for a in self.attributes)

    def label(self, cell: int) -> str:
        """What a person reads for a cell."""
        self._check_numbered()
        rest = int(cell)
        check_range(rest, 0, self.size - 1, "cell")
        indices: list[int] = []
        for size in reversed(self.shape):
            rest, index = divmod(rest, size)
            indices.append(index)
        return self.describe(indices[::-1])

    def describe(self, codes: Iterable[int]) -> str:
        """What a person reads for the members of these indices, one of each attribute."""
        return " · ".join(a.label(int(index)) for a, index in zip(self.attributes, codes, strict=True))

    def places_in(self, whole: Domain) -> tuple[int, ...]:
        """Where these attributes stand among those of `whole`, which has all of them, equal and in the same order.

        Raises `InvalidValue` where it does not.
        """
        there = {attribute: place for place, attribute in enumerate(whole.attributes)}
        places = tuple(there.get(attribute, -1) for attribute in self.attributes)
        if places[0] < 0 or any(b <= a for a, b in pairwise(places)):
            names = ", ".join(self._names)[:1000]
            raise InvalidValue(f"the attributes {names} are not some of the other domain's, in its order", self)
        return places

    def salted(self, randomness: Randomness) -> Domain:
        """The same domain with a fresh salt for each hashed attribute that has none."""
        return Domain(tuple(_salted(attribute, randomness) for attribute in self.attributes))

    @property
    def holds_strings(self) -> bool:
        """Whether the domain is a text and its prefixes."""
        return self._text is not None

    @property
    def unsalted(self) -> tuple[str, ...]:
        """Names of the hashed attributes that have no salt yet."""
        return tuple(a.name for a in self.attributes if isinstance(a, Hashed) and not a.salt)

    def check_salted(self) -> None:
        """Raise `InvalidValue` unless every hashed attribute has its salt."""
        if self.unsalted:
            raise InvalidValue(f"hashed attributes need a salt of {SALT_BYTES} bytes: {', '.join(self.unsalted)}", self)

    def _check_numbered(self) -> None:
        if self.size > MAX_CELLS:
            raise InvalidValue("only the cells of a domain of at most 2^62 are numbered: use codes", self.size)

    def check_shape(self, value: object) -> None:
        """Raise `InvalidValue` unless a value comes in a shape that `encode` reads, whatever its attributes hold.

        A name that is left out, or None for the whole, is an attribute that is missing. The error holds and quotes
        nothing of the value, for it may end up in a crash report.
        """
        if isinstance(value, Mapping):
            if not value.keys() <= set(self._keys):
                raise InvalidValue(f"the value names an attribute that the domain does not have; it has {self._keys}")
        elif not self._takes_one_value and value is not None and not self._is_sequence(value):
            raise InvalidValue(f"give a mapping by name, or a list or tuple with one value for each of {self._names}")

    def encode(self, value: object, *, strict: bool = False) -> int:
        """Cell of a value: a scalar where there is one attribute, else a mapping by name or a list or tuple in order.

        Every value has a cell unless `strict`: one of another shape counts as missing; `check_shape` raises. Raises
        `InvalidValue` where the domain has more than 2^62 cells: these have no numbers; use `codes`.
        """
        self._check_numbered()
        cell = 0
        for size, code in zip(self.shape, self.codes(value, strict=strict), strict=True):
            cell = cell * size + code
        return cell

    def codes(self, value: object, *, strict: bool = False) -> list[int]:
        """Index of the value's member in each attribute; reads values as `encode` does and needs no cell."""
        if strict:
            self.check_shape(value)
        parts = self.parts(value)
        if (text := self._text) is not None:
            member, bits = text.encode(parts[0], strict=strict), text.bits_of(parts[0])
            prefixes = (each for each in self.attributes if isinstance(each, TextPrefix))
            return [member, *(each.index_of(text, bits) for each in prefixes)]
        return [a.encode(part, strict=strict) for a, part in zip(self.attributes, parts, strict=True)]

    def coerced(self, value: object) -> dict[str, str]:
        """What becomes of each attribute that `strict` refuses, by its name; nothing of the value but its type."""
        return {
            attribute.name: _coercion(attribute, part)
            for attribute, part in zip(self.attributes, self.parts(value), strict=True)
            if not isinstance(attribute, TextPrefix) and _refused(attribute, part)
        }

    def parts(self, value: object) -> Sequence[object]:
        """What each attribute is given of a value, None where its shape is another one."""
        if isinstance(value, Mapping):
            return [value.get(key) for key in self._keys]
        if self._takes_one_value:
            return [value] * len(self._names)
        return value if self._is_sequence(value) else [None] * len(self._names)

    def _is_sequence(self, value: object) -> TypeGuard[Sequence[object]]:
        return isinstance(value, (tuple, list)) and len(value) == len(self._names)

    @property
    def value_names(self) -> tuple[str, ...]:
        """The names by which a value is given, each once: a text stands for all of its prefixes."""
        return tuple(dict.fromkeys(self._keys))

    @cached_property
    def _keys(self) -> list[str]:
        """The names by which a value is given: an indicator has that of its source, a prefix that of its text."""
        if self._text is not None:
            return [self._text.name] * len(self.attributes)
        return [a.key if isinstance(a, Indicator) else a.name for a in self.attributes]

    @cached_property
    def _text(self) -> Text | None:
        """The text that a domain of strings is of."""
        first = self.attributes[0]
        return first if isinstance(first, Text) else None

    @property
    def _takes_one_value(self) -> bool:
        """Whether a value stands for itself, without a name or a list around it."""
        return len(self.attributes) == 1 or self._text is not None

    @cached_property
    def _names(self) -> list[str]:
        return [attribute.name for attribute in self.attributes]


def _salted(attribute: Attribute, randomness: Randomness) -> Attribute:
    if isinstance(attribute, Hashed) and not attribute.salt:
        return replace(attribute, salt=randomness.bytes(SALT_BYTES))
    return attribute


def _refused(attribute: Attribute, value: object) -> bool:
    try:
        attribute.encode(value, strict=True)
    except OutsideDomain:
        return True
    return False


def _coercion(attribute: Attribute, value: object) -> str:
    index, found = attribute.encode(value, strict=False), type(value).__name__
    if index >= attribute.listed:
        return f"{found} counts as {attribute.label(index)}"
    ordered = isinstance(attribute, (Ordered, Number))
    if ordered and written_number(value) is not None:
        return f"{found} is read as a number"
    if ordered and exact_number(value) is not None:
        return f"{found} counts as the nearest {'number' if isinstance(attribute, Number) else 'whole number'} in range"
    return f"{found} counts as the first member"
