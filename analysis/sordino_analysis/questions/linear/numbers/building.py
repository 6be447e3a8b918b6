"""From measures of numbers to rows over the types that devices round to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from sordino_analysis.arrays import Floats, varying_rows
from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.figures import SHARE, amount
from sordino_analysis.questions.linear.dithering import Dithering
from sordino_analysis.questions.linear.factors import Factor, factor, product_of
from sordino_analysis.questions.linear.numbers.places import NumberPlace, RowPart
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.questions.linear.scopes import QueryScope
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Categorical, Domain

# The attribute and the member that users of a category have.
Category = tuple[int, int]
# What a row is of: the place of the attribute, the name of the part and what it is at, the category.
RowKey = tuple[int, str, tuple[float, ...], Category | None]
# Categories of all other attributes together: each has rows of its own.
_MOST_CATEGORIES = 64
# Types of rows that are written out: searches for kernels of more take minutes.
_MOST_TYPES = 2048
# The parts that are answers by themselves where they are about all users.
_WHOLE = frozenset({"mean", "share_above", "below", "member", "absent", "clipped"})


@dataclass(frozen=True, eq=False, kw_only=True)
class Row:
    """A linear query over the types: what it is of, its label and unit, and its `values`, one for each type.

    `centred` says that numbers are less the middle of their range.
    """

    key: RowKey
    label: str
    unit: str
    values: Floats
    weight: float
    centred: bool = False

    @property
    def category(self) -> Category | None:
        """The category whose users it is about, None for all."""
        return self.key[3]

    @property
    def is_answer(self) -> bool:
        """Whether it is a measure of all users, and no square or part of one."""
        return self.category is None and self.key[1] in _WHOLE and not self.centred


class ScaledRows(Dense):
    """Rows of several units: the variance of each counts in squares of its own scale, its largest less least entry.

    It counts as often as the row's `weights` (Q,) say, too.
    """

    def __init__(self, matrix: Floats, weights: Floats | None = None) -> None:
        super().__init__(matrix)
        self.weights = np.ones(len(matrix)) if weights is None else weights

    def query_weights(self) -> Floats:
        """(Q,) 1 over the squared scale, 1 on average over the rows that vary."""
        varying, scales = varying_rows(self.matrix), np.ptp(self.matrix, axis=1)
        weights = np.ones(len(self.matrix))
        if not varying.any():
            return weights
        weights[varying] = self.weights[varying] * (scales[varying].max() / scales[varying]) ** 2
        return np.asarray(weights / weights[varying].mean())


@dataclass(frozen=True, eq=False)
class AskedNumbers:
    """What is asked of a domain, and the rows that answer it."""

    domain: Domain
    queries: NumberQueries

    @cached_property
    def numbers(self) -> list[NumberPlace]:
        """The attributes that are asked about; raises WorkloadError where the measures do not fit the domain."""
        return [NumberPlace.of(self.domain, asked) for asked in self.queries.asked]

    @property
    def is_product(self) -> bool:
        """Whether the shares of all bins or members are asked, so that no row is written out."""
        names = {measure.name for number in self.numbers for measure in number.asked.measures}
        return len(self.numbers) == 1 and (
            names == {"top"} or (names == {"quantile"} and not self.numbers[0].asked.bins)
        )

    @cached_property
    def others(self) -> list[int]:
        """The places of the attributes that answers are split by; raises WorkloadError for others than categories."""
        asked = {number.place for number in self.numbers}
        found = [place for place in range(len(self.domain.attributes)) if place not in asked]
        for place in found:
            other = self.domain.attributes[place]
            if not isinstance(other, Categorical):
                raise WorkloadError(
                    f"{other.name!r} is {other.kind}, and numbers are split by categories: ask about it, too, or in a "
                    "workload of its own, or make it categorical",
                    other,
                )
        if (count := sum(self.domain.attributes[place].size for place in found)) > _MOST_CATEGORIES:
            raise WorkloadError(
                f"{count} categories, and numbers are split by at most {_MOST_CATEGORIES}: list fewer labels, the rest "
                "as `other`",
                count,
            )
        return found

    @cached_property
    def categories(self) -> list[Category]:
        """The attribute and the member of each category that answers are split by."""
        return [(place, member) for place in self.others for member in range(self.domain.attributes[place].size)]

    @cached_property
    def sizes(self) -> list[int]:
        """How many types each attribute has."""
        sizes = list(self.domain.shape)
        for number in self.numbers:
            sizes[number.place] = number.size
        return sizes

    @cached_property
    def knots(self) -> tuple[tuple[int, ...], ...]:
        """The knots of each attribute, empty where each member is a type."""
        found = {number.place: number.knots for number in self.numbers}
        return tuple(found.get(place, ()) for place in range(len(self.domain.attributes)))

    def needs_share(self, number: NumberPlace, category: Category | None) -> bool:
        """Whether a mean is one over the users who have a number, or are in the category, and not over all."""
        return category is not None or bool(number.absent)

    def share_key(self, number: NumberPlace, category: Category | None) -> RowKey:
        """The row of the users whom the mean is over; the same for all attributes that everybody has."""
        return (number.place if number.absent else -1, "present", (), category)

    @cached_property
    def rows(self) -> list[Row]:
        """Of all users first, then of each category of the other attributes, and its share.

        Raises WorkloadError for more types than are planned, and for measures that do not fit the domain.
        """
        if prod(self.sizes) > _MOST_TYPES:
            several = f"the {len(self.numbers)} numbers" if len(self.numbers) > 1 else "fewer categories"
            raise WorkloadError(
                f"devices would round to {prod(self.sizes):,} types, at most {_MOST_TYPES:,} are planned: ask about "
                f"{several} in several workloads, each of which a part of the users answers",
                self.sizes,
            )
        found = {row.key: row for category in (None, *self.categories) for row in self._of_group(category)}
        return list(found.values())

    def _of_group(self, category: Category | None) -> Iterator[Row]:
        inside, named = np.ones(self.sizes).ravel(), ""
        if category is not None:
            place, member = category
            inside = over(self.sizes, place, np.eye(self.sizes[place])[member])
            named = f"{self.domain.attributes[place].name}: {self.domain.attributes[place].label(member)}"
        heaviest: dict[RowKey, tuple[float, Row]] = {}
        for number in self.numbers:
            centred, most = self.needs_share(number, category), 0.0
            for part in number.parts():
                most = max(most, part.weight)
                values = inside * self._over_types(number, _values(number, part, centred=centred))
                label = _label(number, part) if centred else part.label
                yield Row(
                    key=(number.place, part.name, part.at, category),
                    label=f"{label} in {named}" if named else label,
                    unit=part.unit,
                    values=values,
                    weight=part.weight,
                    centred=centred and part.name in ("mean", "square"),
                )
            if centred:
                heaviest |= self._share(number, category, inside, named, most)
        yield from (replace(row, weight=weight) for weight, row in heaviest.values())
        if category is None:
            yield from (row for number in self.numbers for row in self._absent(number))

    def _share(
        self, number: NumberPlace, category: Category | None, inside: Floats, named: str, weight: float
    ) -> dict[RowKey, tuple[float, Row]]:
        present = inside * self._over_types(number, np.ones(len(number.types)))
        key, label = self.share_key(number, category), named
        if number.absent:
            label = f"{number.asked.attribute} has a number" + (f" in {named}" if named else "")
        return {key: (weight, Row(key=key, label=label, unit=SHARE, values=present, weight=weight))}

    def _absent(self, number: NumberPlace) -> Iterator[Row]:
        """The share of the users who have `missing` or `other` for a number."""
        for place, member in enumerate(number.absent, len(number.types)):
            values = over(self.sizes, number.place, np.eye(number.size)[place])
            label = f"{number.asked.attribute}: {number.attribute.label(member)}"
            key = (number.place, "absent", (float(member),), None)
            yield Row(key=key, label=label, unit=SHARE, values=values, weight=1.0)

    def _over_types(self, number: NumberPlace, values: Floats) -> Floats:
        """Values of the ordered types of an attribute over the types of all, 0 for those that are no number."""
        return over(self.sizes, number.place, np.append(values, np.zeros(len(number.absent))))


def rows_of_numbers(domain: Domain, queries: NumberQueries) -> Factor:
    """The rows over the types, and how members become types, unless every member is one.

    Raises WorkloadError where the measures do not fit the domain.
    """
    asked = AskedNumbers(domain, queries)
    if asked.is_product:
        return _product(asked)
    rows = asked.rows
    return Factor(
        ScaledRows(np.stack([row.values for row in rows]), np.array([row.weight for row in rows])),
        lambda query: rows[query].label,
        lambda query: QueryScope(_kind(rows[query]), None, rows[query].unit),
        Dithering(domain, asked.knots) if any(asked.knots) else None,
    )


def _product(asked: AskedNumbers) -> Factor:
    """The share of each bin or member, in each category of the others."""
    [number] = asked.numbers
    own = "histogram" if number.asks("top") else "prefix"
    _ = asked.categories
    kinds = [own if place == number.place else "histogram" for place in range(len(asked.domain.attributes))]
    whole = product_of([factor(*pair) for pair in zip(asked.domain.attributes, kinds, strict=True)])
    return replace(whole, scope=lambda query: replace(whole.scope(query), unit=SHARE))


def rows_of_all_users(domain: Domain, queries: NumberQueries) -> list[int]:
    """The rows that are measures of all users; other rows are squares, and parts of measures of a category."""
    asked = AskedNumbers(domain, queries)
    if asked.is_product:
        return []
    return [place for place, row in enumerate(asked.rows) if row.is_answer]


def over(sizes: Sequence[int], place: int, values: Floats) -> Floats:
    """(types,) the `values` (m,) of the m members of the attribute at `place`, over the product of all in C order."""
    shape = [size if axis == place else 1 for axis, size in enumerate(sizes)]
    return np.broadcast_to(values.reshape(shape), sizes).ravel()


def _values(number: NumberPlace, part: RowPart, *, centred: bool) -> Floats:
    """Of the types: numbers of a category, or of those who have one, less the middle, so that no entry is larger."""
    if not centred or part.name not in ("mean", "square"):
        return part.values
    if part.name == "mean":
        return np.asarray(part.values - part.middle)
    scale = number.numbers
    middle = (scale.low + scale.high) / 2
    return np.asarray(((scale.numbers(number.types) - middle) / (scale.high - scale.low)) ** 2)


def _label(number: NumberPlace, part: RowPart) -> str:
    """What is asked of a category: an answer over all users, and no mean or share of those in the category."""
    if part.name != "mean":
        return part.label
    return f"{number.asked.attribute} less {amount(part.middle, number.numbers.unit, 0.0)}"


def _kind(row: Row) -> str:
    return "histogram" if row.key[1] in ("present", "absent", "member") else row.key[1]
