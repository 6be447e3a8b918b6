"""Unordered labels."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from sordino_shared._checks import check_distinct, check_name
from sordino_shared._records import dataclass
from sordino_shared.domains.members import check_listable, trailing_members, unlisted
from sordino_shared.errors import InvalidValue


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
        check_listable(len(self.categories), self.name)
        for category in self.categories:
            check_name(category, "category")
        check_distinct(self.labels, f"members of attribute {self.name!r}")
        if not self.labels:
            raise InvalidValue(f"attribute {self.name!r} has no members", self.name)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every member in index order."""
        return self.categories + trailing_members(self.missing, self.other)

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

    @property
    def entries(self) -> int:
        """How many labels or edges a document holds for the attribute."""
        return self.size

    def label(self, index: int) -> str:
        """What a person reads for a member."""
        return self.labels[index]

    def encode(self, value: object, *, strict: bool) -> int:
        """Index of `value`; see the package's text for what an unlisted one becomes."""
        position = self._positions.get(value) if isinstance(value, str) else None
        if position is not None:
            return position
        return unlisted(self, value, strict)
