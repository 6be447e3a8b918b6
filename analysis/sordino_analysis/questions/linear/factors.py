"""The kinds of queries of one attribute, and workloads over products of attributes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from sordino_analysis.questions.linear.composed_maps import Kronecker, WithoutRow
from sordino_analysis.questions.linear.dithering import Dithering
from sordino_analysis.questions.linear.operators import Identity, LinearMap, Prefix, Ranges, Total
from sordino_analysis.questions.linear.scopes import QueryScope, Side, joint_kind
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Attribute, Domain, Ordered

KINDS = ("histogram", "prefix", "ranges", "total")
# Two thousand million queries, of which a plan lists a thousand.
_MOST_BINS_FOR_RANGES = 1 << 16
# Numbers of queries are indices, and those are 64-bit.
_MOST_QUERIES = 2**62


@dataclass(frozen=True)
class Factor:
    """Queries on some attributes, their names, and what they are about; with `dithering` over the types of numbers."""

    operator: LinearMap
    label: Callable[[int], str]
    scope: Callable[[int], QueryScope]
    dithering: Dithering | None = None


def factor(attribute: Attribute, kind: str) -> Factor:
    """Queries of `kind` on an attribute; constant ones are still among them.

    Raises WorkloadError for an unknown kind, or one that needs an order.
    """
    if kind not in KINDS:
        raise WorkloadError(f"unknown kind of queries {kind!r}: use one of {', '.join(KINDS)} or a matrix", kind)
    if kind == "histogram":
        return Factor(
            Identity(attribute.size),
            lambda q: f"{attribute.name}: {attribute.label(q)}",
            lambda q: QueryScope(kind, ((q, q),)),
        )
    if kind == "total":
        return Factor(Total(attribute.size), lambda q: "", lambda q: QueryScope(kind, ((0, attribute.size - 1),)))
    if not isinstance(attribute, Ordered):
        raise WorkloadError(
            f"{kind} needs an order and attribute {attribute.name!r} is {attribute.kind}: "
            "make it ordinal with edges, or ask for its histogram",
            attribute,
        )
    if kind == "prefix":
        return Factor(
            Prefix(attribute.bins, attribute.size),
            lambda q: interval_label(attribute, 0, q),
            lambda q: QueryScope(kind, ((0, q),)),
        )
    return _ranges(attribute)


def product_of(factors: Sequence[Factor]) -> Factor:
    """The Kronecker product of the factors without its constant query, which is answered exactly.

    Raises WorkloadError for more than 2^62 queries.
    """
    if prod(part.operator.shape[0] for part in factors) > _MOST_QUERIES:
        raise WorkloadError("the workload has more than 2^62 queries: use `total` for some attributes", factors)
    whole = factors[0].operator if len(factors) == 1 else Kronecker([part.operator for part in factors])
    heights = tuple(part.operator.shape[0] for part in factors)
    omitted = whole.constant_row

    def places(query: int) -> list[tuple[Factor, int]]:
        row = query if omitted is None or query < omitted else query + 1
        return [(part, int(q)) for part, q in zip(factors, np.unravel_index(row, heights), strict=True)]

    def label(query: int) -> str:
        names = (part.label(q) for part, q in places(query))
        return ", ".join(name for name in names if name)

    def scope(query: int) -> QueryScope:
        scopes = [part.scope(q) for part, q in places(query)]
        sides: list[Side] = []
        for each in scopes:
            # The queries of one attribute are shares of boxes.
            assert each.sides is not None
            sides += each.sides
        return QueryScope(joint_kind(each.kind for each in scopes), tuple(sides))

    return Factor(whole if omitted is None else WithoutRow(whole, omitted), label, scope)


def _ranges(attribute: Ordered) -> Factor:
    if attribute.bins > _MOST_BINS_FOR_RANGES:
        raise WorkloadError(
            f"ranges over {attribute.bins} bins are too many queries: use at most {_MOST_BINS_FOR_RANGES} bins, "
            "or prefix, whose differences are the ranges",
            attribute,
        )
    operator = Ranges(attribute.bins, attribute.size)

    def label(query: int) -> str:
        return interval_label(attribute, *operator.interval(query))

    return Factor(operator, label, lambda query: QueryScope("ranges", (operator.interval(query),)))


def prefix_count(domain: Domain) -> int:
    """How many prefixes of the bins of all ordered attributes there are, without those that hold every user."""
    return sum(a.bins - (a.bins == a.size) for a in domain.attributes if isinstance(a, Ordered))


def range_count(attribute: Ordered) -> int:
    """How many ranges of an attribute's bins there are, without the one that holds every user."""
    return attribute.bins * (attribute.bins + 1) // 2 - (attribute.bins == attribute.size)


def rectangle_count(domain: Domain) -> int:
    """How many products of ranges of ordered attributes and members of others there are, and of all of an attribute.

    The one that holds every user is left out.
    """
    sides = (range_count(a) if isinstance(a, Ordered) else a.size * (a.size > 1) for a in domain.attributes)
    return prod(side + 1 for side in sides) - 1


def interval_label(attribute: Ordered, first: int, last: int) -> str:
    """What a person reads for the bins `first` to `last`."""
    low = attribute.cut(first - 1) if first > 0 else ""
    high = attribute.cut(last) if last < attribute.bins - 1 else ""
    unit = f" {attribute.unit}" if attribute.unit else ""
    if low and high:
        return f"{low} < {attribute.name} ≤ {high}{unit}"
    if high:
        return f"{attribute.name} ≤ {high}{unit}"
    return f"{attribute.name} > {low}{unit}" if low else f"{attribute.name} in any bin"
