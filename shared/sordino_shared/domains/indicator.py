"""Whether the member of another attribute is one of some: an attribute of two members, whatever the other's size."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

from sordino_shared._checks import check_name, check_range
from sordino_shared._records import dataclass
from sordino_shared.domains.categorical import Categorical
from sordino_shared.domains.integers import Integers
from sordino_shared.domains.ordinal import Ordinal
from sordino_shared.errors import InvalidValue

# No attribute has more members, its trailing ones included.
_LAST = 1 << 62


@dataclass(frozen=True)
class Span:
    """The members `first` to `last` of an attribute."""

    first: int
    last: int

    def __post_init__(self) -> None:
        check_range(self.first, 0, _LAST, "first member of a span")
        check_range(self.last, self.first, _LAST, "last member of a span")


@dataclass(frozen=True)
class Indicator:
    """1 where the value's member of `source` lies in one of the spans, which go up and do not meet; else 0.

    Several indicators may have one source. A value by name has the source's name; `name` is the indicator's own. What
    becomes of a value that the source does not list is the source's: `missing` and `other` are members like others.
    """

    kind: ClassVar[str] = "indicator"
    missing: ClassVar[bool] = False
    other: ClassVar[bool] = False
    listed: ClassVar[int] = 2
    size: ClassVar[int] = 2
    name: str
    source: Categorical | Ordinal | Integers
    spans: tuple[Span, ...]

    def __post_init__(self) -> None:
        check_name(self.name, "attribute name")
        check_range(len(self.spans), 1, self.source.size, "number of spans")
        if self.spans[-1].last >= self.source.size:
            raise InvalidValue(f"{self.source.name!r} has the members 0 to {self.source.size - 1}", self.spans[-1].last)
        if any(after.first <= before.last + 1 for before, after in pairwise(self.spans)):
            raise InvalidValue("the spans of an indicator go up and leave members out between them", self.spans)
        if len(self.spans) == 1 and self.spans[0].last - self.spans[0].first + 1 == self.source.size:
            raise InvalidValue(f"indicator {self.name!r} is 1 for every member: leave some out", self.name)

    @property
    def key(self) -> str:
        """The name under which a value by name has it."""
        return self.source.name

    @property
    def entries(self) -> int:
        """How many labels or edges a document holds for the attribute."""
        return self.source.entries + len(self.spans)

    def label(self, index: int) -> str:
        """What a person reads for a member."""
        return ("no", "yes")[index]

    def encode(self, value: object, *, strict: bool) -> int:
        """1 or 0; a value that the source does not list is what the source makes of it."""
        member = self.source.encode(value, strict=strict)
        return int(any(span.first <= member <= span.last for span in self.spans))
