"""Bins of a line."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from sordino_shared._checks import MAX_NAME, check_increasing, check_length, check_name, finite_float
from sordino_shared.domains.members import trailing_members, unlisted
from sordino_shared.domains.numbers import exact_number, written_number


@dataclass(frozen=True)
class Ordinal:
    """Bins of a real line cut at `edges`: bin j holds edges[j−1] < value ≤ edges[j].

    The first and the last bin are unbounded, so every number has a bin: what lies outside the edges falls into one
    of the two. `missing` and `other` follow the bins and are not ordered. `unit` is for people.
    """

    kind: ClassVar[str] = "ordinal"
    name: str
    edges: tuple[float, ...]
    _: KW_ONLY
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
            return ("any", *trailing_members(self.missing, self.other))
        texts = [_edge_text(edge) for edge in self.edges]
        inner = (f"({a}, {b}]" for a, b in pairwise(texts))
        return (f"≤ {texts[0]}", *inner, f"> {texts[-1]}", *trailing_members(self.missing, self.other))

    @property
    def size(self) -> int:
        return self.bins + self.missing + self.other

    @property
    def listed(self) -> int:
        """Number of members before `missing` and `other`."""
        return self.bins

    def encode(self, value: object, *, strict: bool) -> int:
        """Bin of a number; see the module's text for what anything else becomes."""
        number = exact_number(value)
        if number is None and not strict:
            number = written_number(value)
        if number is not None:
            return bisect_left(self.edges, number)
        if self.missing and not strict:
            return self.bins
        return unlisted(self, value, strict)


def _edge_text(edge: float) -> str:
    short = f"{edge:g}"
    return short if float(short) == edge else repr(edge)
