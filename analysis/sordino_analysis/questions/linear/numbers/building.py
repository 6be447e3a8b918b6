"""From measures of numbers to rows over the types that devices round to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats, varying_rows
from sordino_analysis.documents.number_queries import AskedNumber, NumberMeasure, NumberQueries
from sordino_analysis.figures import SHARE, amount
from sordino_analysis.questions.linear.dithering import Dithering, even_knots
from sordino_analysis.questions.linear.factors import Factor
from sordino_analysis.questions.linear.numbers.scale import NumberScale, scale_of
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.questions.linear.scopes import QueryScope
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Categorical, Domain
from sordino_shared.randomizers.dithered import MAX_KNOTS

# What needs the levels of the numbers themselves, and what only a threshold.
OF_MEAN = frozenset({"mean", "sum", "variance", "sd"})
OF_SQUARE = frozenset({"variance", "sd"})
# Categories of all other attributes together: each has rows of its own.
_MOST_CATEGORIES = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Row:
    """A linear query over the types: what it is of, its label and unit, and its `values`, one for each type.

    `category` is the attribute and the member whose users it is about, None for all; `measure` is None for the share of
    the users who are in the category.
    """

    measure: NumberMeasure | None
    category: tuple[int, int] | None
    label: str
    unit: str
    values: Floats

    @property
    def key(self) -> tuple[NumberMeasure | None, tuple[int, int] | None]:
        """By which a row is found."""
        return self.measure, self.category


class ScaledRows(Dense):
    """Rows of several units: the variance of each counts in squares of its own scale, its largest less least entry."""

    def query_weights(self) -> Floats:
        """(Q,) 1 over the squared scale, 1 on average over the rows that vary."""
        varying, scales = varying_rows(self.matrix), np.ptp(self.matrix, axis=1)
        weights = np.ones(len(self.matrix))
        if not varying.any():
            return weights
        weights[varying] = (scales[varying].max() / scales[varying]) ** 2
        return np.asarray(weights / weights[varying].mean())


MEAN, SQUARE = NumberMeasure("mean", ()), NumberMeasure("variance", ())


@dataclass(frozen=True, eq=False)
class NumberPlace:
    """The attribute that is asked about: its place in the domain, its numbers, and what is asked."""

    place: int
    scale: NumberScale
    asked: AskedNumber

    @classmethod
    def of(cls, domain: Domain, queries: NumberQueries) -> NumberPlace:
        """Raises WorkloadError where the measures do not fit the domain."""
        if len(queries.asked) != 1:
            raise WorkloadError("one attribute is asked about in a workload for now: make a workload of each", queries)
        [asked] = queries.asked
        names = [attribute.name for attribute in domain.attributes]
        if asked.attribute not in names:
            raise WorkloadError(f"there is no attribute {asked.attribute!r}; the domain has {', '.join(names)}", asked)
        place = names.index(asked.attribute)
        scale = scale_of(domain.attributes[place])
        _check_others(domain, place)
        return cls(place, scale, asked)

    @property
    def knots(self) -> tuple[int, ...]:
        """The levels and jumps of the measures; empty where each member is a type. Raises WorkloadError."""
        if self.scale.listed is not None or self.scale.last < self.asked.levels:
            return ()
        names = {measure.name for measure in self.asked.measures}
        jumps = sorted({self.scale.first_above(*each.at) for each in self.asked.measures if each.name == "share_above"})
        knots = even_knots(self.scale.last, self.asked.levels if names & OF_MEAN else 2, jumps)
        if len(knots) > MAX_KNOTS:
            raise WorkloadError(f"{len(knots)} knots, at most {MAX_KNOTS} are sent to a device: ask for less", knots)
        return knots

    def measures(self) -> list[NumberMeasure]:
        """What rows are made for: the mean, its square, and each share above a number, where they are asked."""
        names = {measure.name for measure in self.asked.measures}
        found = [MEAN] * bool(names & OF_MEAN) + [SQUARE] * bool(names & OF_SQUARE)
        return [*found, *(measure for measure in self.asked.measures if measure.name == "share_above")]

    def label(self, measure: NumberMeasure) -> str:
        """What a person reads for a measure."""
        name = self.asked.attribute
        if measure.name == "share_above":
            return f"{name} > {amount(measure.at[0], self.scale.unit, 0.0)}"
        return f"{measure.name} of {name}"

    def values(self, measure: NumberMeasure, types: Sequence[int]) -> Floats:
        """(types,) of a measure at the knots, or at all members: numbers, squares of those in shares of the range."""
        numbers = self.scale.numbers(types)
        if measure == MEAN:
            return numbers
        if measure == SQUARE:
            return np.asarray(((numbers - self.scale.low) / (self.scale.high - self.scale.low)) ** 2)
        return _from_jump(types, self.scale.first_above(*measure.at))


def rows_of_numbers(domain: Domain, queries: NumberQueries) -> Factor:
    """The rows over the types, and how members become types, unless every member is one.

    Raises WorkloadError where the measures do not fit the domain.
    """
    number = NumberPlace.of(domain, queries)
    rows = list(rows_of(domain, number))
    knots = tuple(number.knots if place == number.place else () for place in range(len(domain.attributes)))
    return Factor(
        ScaledRows(np.stack([row.values for row in rows])),
        lambda query: rows[query].label,
        lambda query: QueryScope(_kind(rows[query]), None, rows[query].unit),
        Dithering(domain, knots) if any(knots) else None,
    )


def rows_of(domain: Domain, number: NumberPlace) -> Iterator[Row]:
    """Of all users first, then of each category of the other attributes, and its share.

    Numbers of a category are less the middle of the range, so that no row is larger than that.
    """
    types = number.knots or range(number.scale.last + 1)
    sizes = [len(types) if place == number.place else size for place, size in enumerate(domain.shape)]
    for measure in number.measures():
        unit = _unit(number, measure)
        values = _over(sizes, number.place, number.values(measure, types))
        label = f"mean square of {number.asked.attribute}" if measure == SQUARE else number.label(measure)
        yield Row(measure=measure, category=None, label=label, unit=unit, values=values)
    middle = (number.scale.low + number.scale.high) / 2
    for category in categories(domain, number.place):
        place, member = category
        inside = _over(sizes, place, np.eye(sizes[place])[member])
        label = f"{domain.attributes[place].name}: {domain.attributes[place].label(member)}"
        for measure in number.measures():
            if measure != SQUARE:
                at = number.values(measure, types) - (middle if measure == MEAN else 0.0)
                yield Row(
                    measure=measure,
                    category=category,
                    label=f"{_part(number, measure, middle)} in {label}",
                    unit=_unit(number, measure),
                    values=inside * _over(sizes, number.place, at),
                )
        yield Row(measure=None, category=category, label=label, unit=SHARE, values=inside)


def rows_of_all_users(domain: Domain, queries: NumberQueries) -> list[int]:
    """The rows that are measures of all users; other rows are squares, and parts of measures of a category."""
    rows = rows_of(domain, NumberPlace.of(domain, queries))
    return [place for place, row in enumerate(rows) if row.category is None and row.measure not in (None, SQUARE)]


def categories(domain: Domain, number: int) -> Iterator[tuple[int, int]]:
    """The attribute and the member of each category that answers are split by."""
    for place, attribute in enumerate(domain.attributes):
        if place != number:
            yield from ((place, member) for member in range(attribute.size))


def _unit(number: NumberPlace, measure: NumberMeasure) -> str:
    if measure.name == "share_above":
        return SHARE
    return number.scale.unit if measure == MEAN else ""


def _part(number: NumberPlace, measure: NumberMeasure, middle: float) -> str:
    """What is asked of a category: an answer over all users, and no mean or share of those in the category."""
    if measure != MEAN:
        return number.label(measure)
    scale = number.scale
    return f"{number.asked.attribute} less {amount(middle, scale.unit, 0.0)}"


def _kind(row: Row) -> str:
    if row.measure is None:
        return "histogram"
    return "square" if row.measure == SQUARE else row.measure.name


def _over(sizes: Sequence[int], place: int, values: Floats) -> Floats:
    """The values of one attribute's members over the product of all, in C order."""
    shape = [size if axis == place else 1 for axis, size in enumerate(sizes)]
    return np.broadcast_to(values.reshape(shape), sizes).ravel()


def _check_others(domain: Domain, number: int) -> None:
    """Raise WorkloadError for other attributes than a few categories."""
    attribute = domain.attributes[number]
    if attribute.missing or attribute.other:
        raise WorkloadError(
            f"{attribute.name!r} has `missing` or `other`, and a mean of those with a number is not built yet: leave "
            "both out",
            attribute,
        )
    others = [each for place, each in enumerate(domain.attributes) if place != number]
    for other in others:
        if not isinstance(other, Categorical):
            raise WorkloadError(
                f"{other.name!r} is {other.kind}, and numbers are split by categories: ask about it in a workload of "
                "its own, or make it categorical",
                other,
            )
    if (count := sum(other.size for other in others)) > _MOST_CATEGORIES:
        raise WorkloadError(
            f"{count} categories, and numbers are split by at most {_MOST_CATEGORIES}: list fewer labels, the rest as "
            "`other`",
            count,
        )


def _from_jump(types: Sequence[int], jump: int) -> Floats:
    """(types,) 1 from the second of the two knots at the jump on."""
    values = np.array(types) >= jump
    knots = list(types)
    if knots.count(jump) > 1:
        values[knots.index(jump)] = False
    return np.asarray(values, dtype=float)
