"""A pairwise statistic: quadratic forms of the histogram and a smooth function of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """hᵀWh, or the mean of W over the pairs of different users: `matrix` W (k, k) is symmetric and finite."""

    name: str
    matrix: Floats

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise InvalidValue(f"a quadratic form needs a square matrix, got {self.matrix.shape}", self.name)
        if not np.isfinite(self.matrix).all():
            raise InvalidValue("the matrix of a quadratic form holds a number that is not finite", self.name)
        if not np.array_equal(self.matrix, self.matrix.T):
            raise InvalidValue("the matrix of a quadratic form must be symmetric", self.name)

    def of_pairs(self, counts: Floats) -> float:
        """The mean of W over the pairs of different users, for (k,) counts of at least two users.

        Raises InvalidValue for fewer users.
        """
        users = float(counts.sum())
        if users < 2:
            raise InvalidValue(f"a pairwise statistic needs at least two users, got {users:g}", users)
        return float((counts @ self.matrix @ counts - np.diag(self.matrix) @ counts) / (users * (users - 1)))

    def of_histogram(self, histogram: Floats) -> float:
        """hᵀWh for a (k,) histogram that sums to one."""
        return float(histogram @ self.matrix @ histogram)


@dataclass(frozen=True, eq=False, kw_only=True)
class PairwiseStatistic:
    """g(u₁ … u_J) for the values u_j of J quadratic forms over one domain.

    `combine` is g, `gradient` its gradient (J,), both at a vector (J,). `denominators` are the indices of forms that g
    divides by: where one of them is not positive, both raise InvalidValue, and where one cannot be told from zero only
    an interval is published. A statistic that is one form has J = 1 and the identity. `specification` is JSON-able and
    makes the same statistic of it again. `notes` are sentences for readers of the answer. A statistic with
    denominators is offset + u₀/d(u₁ …) for a d that is homogeneous of degree 1, and `range_of_ratio` is from where to
    where it can be.
    """

    name: str
    domain: Domain
    forms: tuple[QuadraticForm, ...]
    combine: Callable[[Floats], float]
    gradient: Callable[[Floats], Floats]
    denominators: tuple[int, ...]
    specification: dict[str, Any]
    notes: tuple[str, ...] = ()
    range_of_ratio: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.denominators and self.range_of_ratio is None:
            raise InvalidValue("a statistic that divides needs the range of what it can be", self.name)
        if not self.forms:
            raise InvalidValue("a statistic needs at least one quadratic form", self.name)
        for form in self.forms:
            if form.matrix.shape[0] != self.domain.size:
                raise InvalidValue(
                    f"form {form.name} has a matrix of {form.matrix.shape[0]} types, the domain {self.domain.size}",
                    form.name,
                )

    @property
    def size(self) -> int:
        """k, the number of user types."""
        return self.domain.size

    @property
    def is_one_form(self) -> bool:
        """Whether the statistic is a quadratic form itself, so that it has unbiased estimators."""
        return len(self.forms) == 1

    @property
    def limits(self) -> tuple[float, float]:
        """Range of the statistic over all histograms."""
        if self.range_of_ratio is not None:
            return self.range_of_ratio
        matrix = self.forms[0].matrix
        return float(matrix.min()), float(matrix.max())

    def of_pairs(self, counts: Floats) -> float:
        """The statistic over the pairs of different users, for (k,) counts of at least two users."""
        return self.combine(np.array([form.of_pairs(counts) for form in self.forms]))

    def of_histogram(self, histogram: Floats) -> float:
        """The statistic with hᵀWh for every form, for a (k,) histogram that sums to one."""
        return self.combine(np.array([form.of_histogram(histogram) for form in self.forms]))
