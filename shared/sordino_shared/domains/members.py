"""The members `missing` and `other`, and what becomes of a value that an attribute does not list."""

from __future__ import annotations

from typing import Protocol

from sordino_shared.domains.numbers import is_missing
from sordino_shared.errors import OutsideDomain

MISSING = "missing"
OTHER = "other"
_FIXED_MEMBER = 0


class OpenMembers(Protocol):
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


def trailing_members(missing: bool, other: bool) -> tuple[str, ...]:
    """Labels of the members that follow the listed ones."""
    return (MISSING,) * missing + (OTHER,) * other


def unlisted(attribute: OpenMembers, value: object, strict: bool) -> int:
    """Index of a value that is not listed; raises `OutsideDomain` where `strict`, unless it is `missing`."""
    if attribute.missing and is_missing(value):
        return attribute.listed
    if strict:
        becomes = f"it counts as `{OTHER}`" if attribute.other else "list it, or give the attribute `other: true`"
        raise OutsideDomain(
            f"attribute {attribute.name!r} does not list {value!r}, a {type(value).__name__}: {becomes}",
            value,
            attribute.name,
        )
    return attribute.listed + attribute.missing if attribute.other else _FIXED_MEMBER
