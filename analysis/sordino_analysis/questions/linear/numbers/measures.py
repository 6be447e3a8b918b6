"""Which rows of a workload each measure comes from, as answers show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sordino_analysis.documents.number_queries import NumberMeasure, NumberQueries
from sordino_analysis.figures import SHARE
from sordino_analysis.questions.linear.numbers.building import MEAN, OF_MEAN, OF_SQUARE, SQUARE, NumberPlace, rows_of
from sordino_analysis.questions.linear.numbers.scale import NumberScale
from sordino_shared.domains import Domain


@dataclass(frozen=True, kw_only=True)
class ShownMeasure:
    """A measure of all users or of a category: `row` is that of the mean or share, of the category's users only.

    `other` is the row of the squares for a variance and a standard deviation, that of the category's share for what is
    about its users; None where the row is the answer.
    """

    name: str
    label: str
    unit: str
    at: tuple[float, ...]
    category: tuple[int, int] | None
    row: int
    other: int | None = None

    @property
    def is_spread(self) -> bool:
        """Whether it is a variance or a standard deviation."""
        return self.name in OF_SQUARE


@dataclass(frozen=True, eq=False)
class Measures:
    """The measures of a workload over `domain`, which devices hold."""

    domain: Domain
    queries: NumberQueries

    @cached_property
    def number(self) -> NumberPlace:
        """What is asked about."""
        return NumberPlace.of(self.domain, self.queries)

    @property
    def scale(self) -> NumberScale:
        """Its numbers."""
        return self.number.scale

    @cached_property
    def square_bias(self) -> float:
        """The most by which rounding raises the mean square of numbers in shares of the range: Δ²/4."""
        knots = self.number.knots
        return float((np.diff([knot / knots[-1] for knot in knots]) ** 2).max() / 4) if knots else 0.0

    @cached_property
    def shown(self) -> list[ShownMeasure]:
        """Of all users in the order in which they were asked, then of each category; spreads are of all users alone."""
        rows = list(rows_of(self.domain, self.number))
        places = {row.key: place for place, row in enumerate(rows)}
        groups = dict.fromkeys(row.category for row in rows)
        labels = {row.category: row.label for row in rows if row.measure is None}
        found = []
        for category in groups:
            for measure in self.number.asked.measures:
                if category is not None and measure.name in OF_SQUARE:
                    continue
                label = self.number.label(measure)
                found.append(
                    ShownMeasure(
                        name=measure.name,
                        label=label if category is None else f"{label}, {labels[category]}",
                        unit=self._unit(measure),
                        at=measure.at,
                        category=category,
                        row=places[MEAN if measure.name in OF_MEAN else measure, category],
                        other=self._other(measure, category, places),
                    )
                )
        return found

    def group(self, shown: ShownMeasure) -> str:
        """The category that a measure is about, as people read it."""
        assert shown.category is not None
        place, member = shown.category
        attribute = self.domain.attributes[place]
        return f"{attribute.name}: {attribute.label(member)}"

    def threshold(self, shown: ShownMeasure) -> float:
        """The largest number that does not count as above the one that was asked for."""
        first = self.scale.first_above(*shown.at)
        return float(self.scale.numbers([first - 1, first]).mean())

    def _other(self, measure: NumberMeasure, category: tuple[int, int] | None, places: Mapping[Any, int]) -> int | None:
        if category is not None:
            return places[None, category]
        return places[SQUARE, None] if measure.name in OF_SQUARE else None

    def _unit(self, measure: NumberMeasure) -> str:
        if measure.name == "share_above":
            return SHARE
        unit = self.scale.unit
        return f"{unit}²" if measure.name == "variance" and unit else unit
