"""Thresholds, intervals and boxes of ordered attributes as rules, and their expected losses over the cells.

A rule says yes inside a box: each attribute lies between two of its bins, both included, or is free. Members without a
place in the order, such as `missing`, are in no side but the free one. With 0–1 losses the losses less ½ are odd under
the exchange of the two labels, which is what sign vectors need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.documents.queries import OrderedConceptQueries
from sordino_analysis.questions.linear.concepts.rules import CONSTANTS, losses_of
from sordino_analysis.questions.linear.factors import Factor, interval_label
from sordino_analysis.questions.linear.operators import DENSE_LIMIT, Dense
from sordino_analysis.questions.linear.scopes import QueryScope, Side
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Domain, Ordered


def _every_side(attribute: Ordered) -> list[Side]:
    """All runs of bins, and the whole attribute, by the first bin and then the last."""
    bins = attribute.bins
    runs = {(first, last) for first in range(bins) for last in range(first, bins)}
    return sorted(runs | {(0, attribute.size - 1)})


def _ends(attribute: Ordered) -> list[Side]:
    """The runs that hold the first bin or the last, and the whole attribute."""
    most = attribute.bins - 1
    up, down = ((0, last) for last in range(most + 1)), ((first, most) for first in range(most + 1))
    return sorted({*up, *down, (0, attribute.size - 1)})


# What sides a box may have on each attribute.
SIDES: Mapping[str, Callable[[Ordered], list[Side]]] = {
    "thresholds": _ends,
    "intervals": _every_side,
    "boxes": _every_side,
}


@dataclass(frozen=True, eq=False)
class OrderedClass:
    """The rules of published queries over the attributes of a domain but the last: never, always, then boxes."""

    attributes: tuple[Ordered, ...]
    queries: OrderedConceptQueries

    @classmethod
    def of(cls, domain: Domain, queries: OrderedConceptQueries) -> OrderedClass:
        """Raises WorkloadError where an attribute has no order, or there are too many rules."""
        attributes = domain.attributes[:-1]
        ordered = tuple(attribute for attribute in attributes if isinstance(attribute, Ordered))
        if len(ordered) < len(attributes) or not ordered or domain.shape[-1] != 2:
            raise WorkloadError("rules over ordered attributes need some, and then a label of two members", domain)
        if queries.family != "boxes" and len(ordered) > 1:
            raise WorkloadError(f"{queries.family} are about one attribute, not {len(ordered)}", queries.family)
        known = cls(ordered, queries)
        entries = known.rules * domain.size
        if entries > DENSE_LIMIT:
            raise WorkloadError(
                f"the class has {known.rules} rules over {domain.size} cells, and their product may be at most "
                f"{DENSE_LIMIT}: use wider bins or fewer attributes (`over`)",
                known.rules,
            )
        return known

    @cached_property
    def sides(self) -> tuple[list[Side], ...]:
        """What a box may have on each attribute."""
        return tuple(SIDES[self.queries.family](attribute) for attribute in self.attributes)

    @property
    def rules(self) -> int:
        """How many there are, never and always among them; the box that holds everybody is always."""
        sizes = (a.bins * (a.bins + 1) // 2 + (a.size > a.bins) for a in self.attributes)
        return 1 + (len(self.sides[0]) if self.queries.family == "thresholds" else prod(sizes))

    @cached_property
    def boxes(self) -> tuple[tuple[Side, ...], ...]:
        """The sides of all rules but the first two, where they say yes."""
        return tuple(sides for sides in product(*self.sides) if sides != self._whole)

    def text(self, number: int) -> str:
        """What a person reads for a rule."""
        if number < len(CONSTANTS):
            return CONSTANTS[number]
        sides = zip(self.attributes, self.boxes[number - len(CONSTANTS)], self._whole, strict=True)
        return " and ".join(interval_label(attribute, *side) for attribute, side, whole in sides if side != whole)

    def width(self, number: int) -> int:
        """How many attributes a rule looks at."""
        if number < len(CONSTANTS):
            return 0
        return sum(map(tuple.__ne__, self.boxes[number - len(CONSTANTS)], self._whole))

    @property
    def _whole(self) -> tuple[Side, ...]:
        return tuple((0, attribute.size - 1) for attribute in self.attributes)

    def predicted(self) -> Mask:
        """(rules, cells) what rules say at every cell of the attributes."""
        shape = tuple(attribute.size for attribute in self.attributes)
        found = np.zeros((self.rules, *shape), dtype=bool)
        found[1] = True
        for row, sides in enumerate(self.boxes, len(CONSTANTS)):
            found[row][tuple(slice(first, last + 1) for first, last in sides)] = True
        return found.reshape(self.rules, -1)

    def losses(self) -> Floats:
        """(rules, cells) the loss of each rule, with the label after the attributes."""
        queries = self.queries
        return losses_of(self.predicted(), queries.positive, queries.miss, queries.false_alarm)


def ordered_concepts(domain: Domain, queries: OrderedConceptQueries) -> Factor:
    """The losses of a class; raises WorkloadError where it has too many rules, or the domain does not fit."""
    known = OrderedClass.of(domain, queries)
    return Factor(Dense(known.losses()), known.text, lambda query: QueryScope("concept", None))
