"""The law of one report's contribution to a single answer, listed value by value where it has few of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats

# More values than these are gathered on a grid, that adds less than a millionth of the squared range to a variance.
_MOST_VALUES = 513
# Laws whose mean and spread differ by less are the same but for rounding.
_SAME = 1e-6


@dataclass(frozen=True)
class Cumulants:
    """Variance, skewness, excess kurtosis of what a user adds to an error; n users' mean has skewness/√n, excess/n."""

    variance: float
    skewness: float
    excess_kurtosis: float

    @classmethod
    def of(cls, second: float, third: float, fourth: float) -> Cumulants:
        """From the cumulants themselves; of no variance nothing is skewed."""
        if second <= 0:
            return cls(0.0, 0.0, 0.0)
        return cls(second, third / second**1.5, fourth / second**2)

    def of_mean(self, users: int) -> Cumulants:
        """Of the mean error of so many users."""
        return Cumulants(self.variance / users, self.skewness / math.sqrt(users), self.excess_kurtosis / users)


@dataclass(frozen=True, eq=False)
class Moments:
    """`raw` (4, g) E[cʲ | class], j = 1 … 4, of one report's contribution c to an answer; `shares` (g,) of users."""

    raw: Floats
    shares: Floats

    @cached_property
    def of_reporters(self) -> Cumulants:
        """About the reporters' own answer: the classes' cumulants, averaged."""
        return Cumulants.of(*(_cumulants(self.raw) @ self.shares).tolist())

    @cached_property
    def of_population(self) -> Cumulants:
        """About the answer of the population that users are drawn from: cumulants of the mixture."""
        return Cumulants.of(*_cumulants((self.raw @ self.shares)[:, None])[:, 0].tolist())


def _cumulants(raw: Floats) -> Floats:
    """Second to fourth cumulants (3, g) from raw moments (4, g)."""
    first, second, third, fourth = raw
    variance = second - first**2
    central = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
    return np.stack([variance, third - 3 * first * second + 2 * first**3, central - 3 * variance**2])


@dataclass(frozen=True, eq=False)
class ContributionLaw:
    """A report of a user of class g adds `values`[m] with chance `chances`[m, g]; `shares` (g,) of the users are of g.

    Classes are the types, or those inside and outside a query; `truth` (g,) is the query's entry for each.
    """

    values: Floats
    chances: Floats
    shares: Floats
    truth: Floats

    @cached_property
    def moments(self) -> Moments:
        """Moments of the same law, about the query's mean entry: cumulants do not change."""
        moved = self.values - float(self.truth @ self.shares)
        return Moments(np.stack([moved**power for power in range(1, 5)]) @ self.chances, self.shares)

    @cached_property
    def reach(self) -> float:
        """The furthest that a report goes from the mean answer."""
        return float(np.abs(self.values - self.truth @ self.shares).max())

    def moved_to(self, answer: float, variance: float) -> ContributionLaw:
        """The law of another query with this mean entry and variance of a report, for want of its own."""
        mean, own = float(self.truth @ self.shares), self.moments.of_reporters.variance
        stretch = math.sqrt(variance / own) if variance > 0 and own > 0 else 1.0
        if abs(mean - answer) <= _SAME * self.reach and abs(stretch - 1) <= _SAME:
            return self
        values, truth = (answer + stretch * (entries - mean) for entries in (self.values, self.truth))
        return ContributionLaw(values, self.chances, self.shares, truth)

    def events(self, users: int) -> float:
        """reach²/variance, the number of equal rare events that make up the error: 1/p for an event of chance p."""
        return users * self.moments.of_reporters.variance / self.reach**2


@dataclass(frozen=True, eq=False)
class OutputCounts:
    """Answers as counts of outputs: `kernel` K (m, k), and what each output adds to the answers, `steps` (Q, m)."""

    kernel: Floats
    steps: Floats


def gathered(values: Floats, chances: Floats) -> tuple[Floats, Floats]:
    """Many values moved to an even grid, each to its two neighbours so that its mean stays.

    `values` and `chances` (m,) → (min(m, _MOST_VALUES),) each.
    """
    if len(values) <= _MOST_VALUES:
        return values, chances
    # Here, since processes that only add reports up import this module and do without scipy.
    from scipy.sparse import csr_array

    grid = np.linspace(values.min(), values.max(), _MOST_VALUES)
    if grid[1] <= grid[0]:
        # One value but for rounding: that of a constant query.
        return grid[:1], chances.sum(axis=0, keepdims=True)
    place = (values - grid[0]) / (grid[1] - grid[0])
    below = np.clip(np.floor(place).astype(int), 0, _MOST_VALUES - 2)
    upper = np.clip(place - below, 0.0, 1.0)
    shared = csr_array(
        (np.concatenate([1 - upper, upper]), (np.concatenate([below, below + 1]), np.tile(np.arange(len(values)), 2))),
        shape=(_MOST_VALUES, len(values)),
    )
    return grid, np.asarray(shared @ chances)
