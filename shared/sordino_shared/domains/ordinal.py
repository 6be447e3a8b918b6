"""Bins of a line."""

from __future__ import annotations

from bisect import bisect_left
from typing import ClassVar

from sordino_shared._checks import MAX_NAME, check_increasing, check_length, check_name, finite_float
from sordino_shared._records import KW_ONLY, dataclass
from sordino_shared.domains.edges import EvenEdges
from sordino_shared.domains.members import check_listable, trailing_label, unlisted
from sordino_shared.domains.numbers import exact_number, written_number


@dataclass(frozen=True)
class Ordinal:
    """Bins of a real line cut at `edges`: bin j holds edges[j−1] < value ≤ edges[j].

    The first and the last bin are unbounded, so every number has a bin: what lies outside the edges falls into one
    of the two. `missing` and `other` follow the bins and are not ordered. `unit` is for people.
    """

    kind: ClassVar[str] = "ordinal"
    name: str
    edges: tuple[float, ...] | EvenEdges
    _: KW_ONLY
    unit: str = ""
    missing: bool = False
    other: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "attribute name")
        check_unit(self.unit)
        if isinstance(self.edges, EvenEdges):
            return
        check_listable(len(self.edges), self.name)
        what = f"edges of attribute {self.name!r}"
        object.__setattr__(self, "edges", tuple(finite_float(edge, what) for edge in self.edges))
        check_increasing(self.edges, what)

    @property
    def bins(self) -> int:
        """Number of ordered members: one more than there are edges."""
        return len(self.edges) + 1

    @property
    def size(self) -> int:
        return self.bins + self.missing + self.other

    @property
    def listed(self) -> int:
        """Number of members before `missing` and `other`."""
        return self.bins

    @property
    def entries(self) -> int:
        """How many labels or edges a document holds for the attribute."""
        return 1 if isinstance(self.edges, EvenEdges) else self.size

    def label(self, index: int) -> str:
        """What a person reads for a member; bins are intervals in the attribute's unit."""
        if index >= self.bins:
            return trailing_label(self, index)
        if not self.edges:
            return "any"
        if index == 0:
            return f"≤ {_edge_text(self.edges[0])}"
        low = _edge_text(self.edges[index - 1])
        return f"> {low}" if index == len(self.edges) else f"({low}, {_edge_text(self.edges[index])}]"

    def cut(self, index: int) -> str:
        """The number that bin `index` ends at, as text."""
        return f"{self.edges[index]:.12g}"

    def encode(self, value: object, *, strict: bool) -> int:
        """Bin of a number; see the package's text for what anything else becomes."""
        number = exact_number(value)
        if number is None and not strict:
            number = written_number(value)
        if number is not None:
            edges = self.edges
            return edges.below(number) if isinstance(edges, EvenEdges) else bisect_left(edges, number)
        if self.missing and not strict:
            return self.bins
        return unlisted(self, value, strict)


def check_unit(unit: str) -> None:
    """A unit is empty or a name."""
    check_length(unit, 0, MAX_NAME, "unit")
    if unit:
        check_name(unit, "unit")


def _edge_text(edge: float) -> str:
    short = f"{edge:g}"
    return short if float(short) == edge else repr(edge)
