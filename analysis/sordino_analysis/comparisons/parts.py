"""Answers that are compared: rows of a mean, answers whose errors are known by their variances, measures of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sordino_analysis.answers.columns import Cell
from sordino_analysis.arrays import Floats
from sordino_analysis.panel.exact_ends import Term
from sordino_analysis.panel.means import MeanPart
from sordino_shared.domains import Domain

MeasureCells = Mapping[str, Cell]


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Some `rows` of the answers of a part, as a part of its own."""

    whole: MeanPart
    rows: Sequence[int]

    @property
    def answers(self) -> Floats:
        """(Q,) unbiased."""
        return self.whole.answers[list(self.rows)]

    @property
    def noise(self) -> Floats:
        """(Q,) variances about the reporters."""
        return self.whole.noise[list(self.rows)]

    @property
    def drawn(self) -> Floats:
        """(Q,) variances of the reporters as independent draws."""
        return self.whole.drawn[list(self.rows)]

    @property
    def users(self) -> int:
        """How many reports the answers come from."""
        return self.whole.users

    @property
    def bias(self) -> float:
        """No answer's bias exceeds it."""
        return self.whole.bias

    @property
    def level(self) -> float:
        """The level at which intervals are judged."""
        return self.whole.level

    @property
    def is_judged(self) -> bool:
        """Whether it is worked out how often intervals hold."""
        return self.whole.is_judged

    def scored(self, quantile: float, unasked: float) -> Floats:
        """(Q, 2) as those of the whole part."""
        return self.whole.scored(quantile, unasked)[list(self.rows)]

    def terms(self, query: int, weight: float) -> list[Term] | None:
        """The answer to a query times a weight, as a sum; None where its law is not listed."""
        return self.whole.terms(self.rows[query], weight)

    def root(self, *, sampled: bool) -> Floats | None:
        """A (Q, r) with A·Aᵀ the covariance of these answers; None where it is not known."""
        every = self.whole.root(sampled=sampled)
        return None if every is None else every[list(self.rows)]


@dataclass(frozen=True, eq=False, kw_only=True)
class NormalPart:
    """Answers (Q,) with normal errors of variances `noise` (Q,), and `drawn` (Q,) more as independent draws.

    For large domains, whose answers have no histogram of listed types to take a law of reports from.
    """

    answers: Floats
    noise: Floats
    drawn: Floats
    users: int
    bias: float
    level: float
    is_judged: bool = False

    def scored(self, quantile: float, unasked: float) -> Floats:
        """(Q, 2) answers ± `quantile` standard errors and the bias."""
        reach = quantile * np.sqrt(self.noise + unasked * self.drawn) + np.where(self.noise > 0, self.bias, 0.0)
        return np.column_stack([self.answers - reach, self.answers + reach])

    def terms(self, query: int, weight: float) -> None:
        """No law is listed."""

    def root(self, *, sampled: bool) -> None:
        """No covariance is known."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredSide:
    """The measures of one side over a `domain`: `at` has their cells, with intervals at the level that it is given.

    `reaches` has the least and the largest number of each label; none of a measure that always has an interval.
    """

    domain: Domain
    users: int
    bias: float
    at: Callable[[float], Sequence[MeasureCells]]
    reaches: Mapping[str, tuple[float, float]] = field(default_factory=dict)
