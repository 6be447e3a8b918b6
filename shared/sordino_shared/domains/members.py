"""The members `missing` and `other`, and what becomes of a value that an attribute does not list."""

from __future__ import annotations

from typing import Protocol

from sordino_shared.domains.numbers import is_missing
from sordino_shared.errors import InvalidValue, OutsideDomain

MISSING = "missing"
OTHER = "other"
# Labels travel to every device; half of what a document may hold in items.
MAX_MEMBERS = 1 << 19
NEED_NO_LIST = "merge some, or use `hashed` for text, `integers` for whole numbers, `{start, step, count}` for edges"
_FIXED_MEMBER = 0


class HasTrailingMembers(Protocol):
    """An attribute as far as its trailing members are concerned."""

    @property
    def name(self) -> str:
        """Distinct within the domain."""

    @property
    def missing(self) -> bool:
        """Whether a member for no value follows the listed ones."""

    @property
    def other(self) -> bool:
        """Whether a member for every unlisted value follows, last."""

    @property
    def listed(self) -> int:
        """Number of members before `missing` and `other`."""


def check_listable(count: int, name: str) -> None:
    """Raise `InvalidValue` where so many labels or edges of one attribute fit no document."""
    if count > MAX_MEMBERS:
        raise InvalidValue(
            f"attribute {name!r} lists {count} members, at most {MAX_MEMBERS} can be: {NEED_NO_LIST}", count
        )


def trailing_members(missing: bool, other: bool) -> tuple[str, ...]:
    """Labels of the members that follow the listed ones."""
    return (MISSING,) * missing + (OTHER,) * other


def trailing_label(attribute: HasTrailingMembers, index: int) -> str:
    """Label of a member that follows the listed ones."""
    return trailing_members(attribute.missing, attribute.other)[index - attribute.listed]


def unlisted(attribute: HasTrailingMembers, value: object, strict: bool) -> int:
    """Index of a value that is not listed; raises `OutsideDomain` where `strict`, unless it is `missing`."""
    if attribute.missing and is_missing(value):
        return attribute.listed
    if strict:
        becomes = f"it counts as `{OTHER}`" if attribute.other else _advice(value)
        raise OutsideDomain(
            f"attribute {attribute.name!r} does not list {value!r}, a {type(value).__name__}: {becomes}",
            value,
            attribute.name,
        )
    return attribute.listed + attribute.missing if attribute.other else _FIXED_MEMBER


def _advice(value: object) -> str:
    if is_missing(value):
        return f"give the attribute `{MISSING}: true`, or leave out who has no value"
    return f"list it, or give the attribute `{OTHER}: true`"
