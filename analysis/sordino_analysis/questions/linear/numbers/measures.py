"""Which rows of a workload each measure comes from, as answers show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sordino_analysis.documents.number_queries import NumberMeasure, NumberQueries
from sordino_analysis.figures import SHARE
from sordino_analysis.questions.linear.numbers.building import AskedNumbers, Category, Row, RowKey
from sordino_analysis.questions.linear.numbers.places import OF_MEAN, OF_SQUARE, NumberPlace
from sordino_shared.domains import Domain


@dataclass(frozen=True, eq=False, kw_only=True)
class ShownMeasure:
    """A measure of all users or of a category: `row` is that of the mean or share, among all users.

    `square` is the row of the squares for a variance and a standard deviation, `share` that of the users whom the
    measure is about, None where these are all; what is divided is less `middle` and lies within `limits`. A quantile
    has the rows `below`, and no `row`.
    """

    name: str
    label: str
    unit: str
    at: tuple[float, ...]
    number: NumberPlace
    category: Category | None
    group: str
    row: int = -1
    share: int | None = None
    square: int | None = None
    below: tuple[int, ...] = ()
    middle: float = 0.0
    limits: tuple[float, float] = (0.0, 1.0)

    @property
    def is_spread(self) -> bool:
        """Whether it is a variance or a standard deviation."""
        return self.name in OF_SQUARE

    @property
    def reach(self) -> tuple[float, float] | None:
        """The least and the largest number that it can be, in its unit; None where that depends on the users."""
        if self.name in ("sum", "quantile"):
            return None
        if self.is_spread:
            # Half of the users are at either end of the range.
            most = (self.limits[1] - self.limits[0]) / 2
            return 0.0, most if self.name == "sd" else most**2
        return self.limits[0] + self.middle, self.limits[1] + self.middle

    @property
    def is_row(self) -> bool:
        """Whether it is an answer to one row, but for a factor."""
        return self.row >= 0 and self.share is None and self.square is None


@dataclass(frozen=True, eq=False)
class Measures:
    """The measures of a workload over `domain`, which devices hold."""

    domain: Domain
    queries: NumberQueries

    @cached_property
    def asked(self) -> AskedNumbers:
        """What is asked about, and its rows."""
        return AskedNumbers(self.domain, self.queries)

    @cached_property
    def rows(self) -> list[Row]:
        """The rows that measures are made of."""
        return self.asked.rows

    def square_bias(self, number: NumberPlace) -> float:
        """The most by which rounding raises the mean square of numbers in shares of the range: Δ²/4."""
        knots = number.knots
        return float((np.diff([knot / knots[-1] for knot in knots]) ** 2).max() / 4) if knots else 0.0

    @cached_property
    def largest_bias(self) -> float:
        """The largest of those of the attributes whose spread is asked for, or of all."""
        numbers = [each for each in self.asked.numbers if each.scale is not None]
        return max((self.square_bias(each) for each in numbers), default=0.0)

    @cached_property
    def shown(self) -> list[ShownMeasure]:
        """Of all users in the order in which they were asked, then of each category."""
        return [
            shown
            for category in (None, *self.asked.categories)
            for number in self.asked.numbers
            for measure in (*number.asked.measures, *self._absent(number, category))
            for shown in self._shown(number, measure, category)
        ]

    def threshold(self, shown: ShownMeasure) -> float:
        """The largest number that does not count as above the one that was asked for."""
        scale = shown.number.numbers
        first = scale.first_above(*shown.at)
        return float(scale.numbers([first - 1, first]).mean())

    def category_label(self, category: Category) -> str:
        """The category that a measure is about, as people read it."""
        place, member = category
        attribute = self.domain.attributes[place]
        return f"{attribute.name}: {attribute.label(member)}"

    @cached_property
    def _places(self) -> Mapping[RowKey, int]:
        return {row.key: place for place, row in enumerate(self.rows)}

    def _absent(self, number: NumberPlace, category: Category | None) -> list[NumberMeasure | int]:
        """The members that are no number, whose shares are told of all users."""
        return [] if category is not None else list(number.absent)

    def _shown(
        self, number: NumberPlace, measure: NumberMeasure | int, category: Category | None
    ) -> Iterator[ShownMeasure]:
        if isinstance(measure, int):
            label, member = f"{number.asked.attribute}: {number.attribute.label(measure)}", (float(measure),)
            row = self._places[number.place, "absent", member, None]
            yield self._of(number, "share", label, SHARE, member, category, row=row)
            return
        where = "" if category is None else f", {self.category_label(category)}"
        share = self._share(number, category)
        if measure.name == "clipped":
            for high in (False, True):
                row = self._places[number.place, "clipped", (float(high),), category]
                label = f"{number.end_label(high=high)}{where}"
                yield self._of(number, "clipped", label, SHARE, (float(high),), category, row=row, share=share)
            return
        if measure.name != "top":
            yield self._of_number(number, measure, f"{number.label(measure)}{where}", category)
            return
        for place in range(len(number.types)):
            label, member = f"{number.asked.attribute}: {number.attribute.label(place)}{where}", (float(place),)
            row = self._places[number.place, "member", member, category]
            yield self._of(number, "top", label, SHARE, member, category, row=row, share=share)

    def _of_number(
        self, number: NumberPlace, measure: NumberMeasure, label: str, category: Category | None
    ) -> ShownMeasure:
        """A measure of numbers by its rows."""
        name, at, unit = measure.name, measure.at, number.numbers.unit
        share = self._share(number, category)
        if name in OF_MEAN:
            return self._of_mean(number, name, label, category)
        if name == "mean_within":
            return self._within(number, at, label, category)
        if name == "quantile":
            below = () if self.asked.is_product else self._below(number, category)
            return self._of(number, name, label, unit, at, category, share=share, below=below)
        row = self._places[number.place, name, at, category]
        return self._of(number, name, label, SHARE, at, category, row=row, share=share)

    def _of_mean(self, number: NumberPlace, name: str, label: str, category: Category | None) -> ShownMeasure:
        """A mean, sum or spread."""
        scale, half = number.numbers, (number.numbers.high - number.numbers.low) / 2
        square = self._places[number.place, "square", (), category] if name in OF_SQUARE else None
        return self._of(
            number,
            name,
            label,
            f"{scale.unit}²" if name == "variance" and scale.unit else scale.unit,
            (),
            category,
            row=self._places[number.place, "mean", (), category],
            share=self._share(number, category),
            square=square,
            middle=scale.low + half,
            limits=(-half, half),
        )

    def _within(
        self, number: NumberPlace, at: tuple[float, ...], label: str, category: Category | None
    ) -> ShownMeasure:
        """A mean of a part of the range, over the users who have a number there."""
        first, end = number.numbers.within(*at)
        low, high = number.numbers.numbers([first, end - 1]).tolist()
        row, share = (self._places[number.place, part, at, category] for part in ("mean_within", "within"))
        reach = (high - low) / 2
        shown = self._of(number, "mean_within", label, number.numbers.unit, at, category, row=row, share=share)
        return replace(shown, group=label.removeprefix("mean of "), middle=low + reach, limits=(-reach, reach))

    def _of(
        self,
        number: NumberPlace,
        name: str,
        label: str,
        unit: str,
        at: tuple[float, ...],
        category: Category | None,
        **rows: Any,
    ) -> ShownMeasure:
        group = f"{number.asked.attribute} with a number" if category is None else self.category_label(category)
        return ShownMeasure(
            name=name, label=label, unit=unit, at=at, number=number, category=category, group=group, **rows
        )

    def _share(self, number: NumberPlace, category: Category | None) -> int | None:
        if not self.asked.needs_share(number, category) or (self.asked.is_product and self.are_quantiles):
            return None
        return self._places[self.asked.share_key(number, category)]

    @property
    def are_quantiles(self) -> bool:
        """Whether nothing but quantiles is asked."""
        return all(measure.name == "quantile" for number in self.asked.numbers for measure in number.asked.measures)

    def _below(self, number: NumberPlace, category: Category | None) -> tuple[int, ...]:
        keys = [key for key in self._places if key[0] == number.place and key[1] == "below" and key[3] == category]
        return tuple(self._places[key] for key in keys)
