"""What a query says about one attribute, as values of that attribute."""

from __future__ import annotations

from dataclasses import dataclass

# Of a query about every number that an attribute has, without its members `missing` and `other`.
ANY_NUMBER = "any number"


@dataclass(frozen=True, kw_only=True)
class AttributeBounds:
    """The values of an attribute that a query counts.

    Of an ordinal attribute low < value ≤ high, of integers low ≤ value ≤ high; None is no bound. `label` is the member
    of a categorical or hashed attribute, or the member `missing` or `other`; `unit` is that of the numbers.
    """

    attribute: str
    low: int | float | None = None
    high: int | float | None = None
    label: str | None = None
    unit: str | None = None
