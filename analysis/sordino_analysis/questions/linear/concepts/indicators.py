"""Indicators of an attribute of any size: one of its members, or a range of it."""

from __future__ import annotations

from sordino_analysis.questions.linear.factors import interval_label
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Attribute, Categorical, Domain, Indicator, Integers, Ordinal, Span

# Members of an attribute whose names are compared.
_MOST_MEMBERS = 4096


def member_indicator(attribute: Attribute, member: str) -> Indicator:
    """Whether the attribute is the member; raises WorkloadError where there is none of that name."""
    if not isinstance(attribute, Categorical | Integers):
        raise WorkloadError(
            f"attribute {attribute.name!r} is {attribute.kind} and has no named members: test a range, `from` and `to`",
            attribute.name,
        )
    if attribute.size > _MOST_MEMBERS:
        raise WorkloadError(f"attribute {attribute.name!r} has {attribute.size} members: test a range", attribute.name)
    members = [attribute.label(index) for index in range(attribute.size)]
    if member not in members:
        known = ", ".join(members)[:1000]
        raise WorkloadError(f"attribute {attribute.name!r} has no member {member!r}; it has {known}", member)
    place = members.index(member)
    return Indicator(f"{attribute.name}={member}", attribute, (Span(place, place),))


def range_indicator(attribute: Attribute, low: float | None, high: float | None) -> Indicator:
    """Whether the attribute lies between two integers, both included, or above one edge and up to another.

    Raises WorkloadError for other attributes, and for ends that are no integers or edges of it.
    """
    if not isinstance(attribute, Ordinal | Integers):
        raise WorkloadError(
            f"attribute {attribute.name!r} is {attribute.kind} and has no order: list `members`", attribute.name
        )
    first, last = _ends(attribute, low, high)
    if not 0 <= first <= last < attribute.bins:
        raise WorkloadError(f"no member of attribute {attribute.name!r} is from {low} to {high}", (low, high))
    if last - first + 1 == attribute.size:
        raise WorkloadError(f"every value of attribute {attribute.name!r} is from {low} to {high}", (low, high))
    return Indicator(interval_label(attribute, first, last), attribute, (Span(first, last),))


def held_domain(domain: Domain) -> Domain:
    """What devices hold where the domain's attributes are indicators of others: each source once."""
    held = (a.source if isinstance(a, Indicator) else a for a in domain.attributes)
    return Domain(tuple(dict.fromkeys(held)))


def _ends(attribute: Ordinal | Integers, low: float | None, high: float | None) -> tuple[int, int]:
    match attribute:
        case Integers():
            first = 0 if low is None else _integer(attribute, low)
            return first, attribute.bins - 1 if high is None else _integer(attribute, high)
        case Ordinal():
            first = 0 if low is None else _edge(attribute, low) + 1
            return first, attribute.bins - 1 if high is None else _edge(attribute, high)


def _integer(attribute: Integers, number: float) -> int:
    if number != int(number) or not attribute.low <= number <= attribute.high:
        raise WorkloadError(
            f"attribute {attribute.name!r} has whole numbers from {attribute.low} to {attribute.high}, not {number:g}",
            number,
        )
    return int(number) - attribute.low


def _edge(attribute: Ordinal, number: float) -> int:
    """The number of the bin that ends at an edge."""
    place = attribute.encode(float(number), strict=True)
    if place >= attribute.bins - 1 or float(attribute.cut(place)) != number:
        raise WorkloadError(f"{number:g} is no edge of attribute {attribute.name!r}: a range ends at edges", number)
    return place
