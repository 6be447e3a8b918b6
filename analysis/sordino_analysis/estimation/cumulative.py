"""Quantiles from the estimated distribution function of an ordered attribute and what may be the true one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.answer_on_demand import QuantileAnswer
from sordino_analysis.questions.linear.on_demand import Quantile
from sordino_analysis.questions.linear.operators import Indices
from sordino_shared.domains import Domain

# Up to so many bins every one has its own standard error; of more, so many spread over all have, and those near the
# ends, where it changes fast.
_ALL_BINS, _SPREAD, _NEAR = 512, 49, 20


@dataclass(frozen=True, eq=False)
class DistributionFunction:
    """F (b,) at the bins of an attribute, with the ends that may be the true ones.

    `interval` (b, 2) holds F at one bin, `band` (b, 2) at all bins at once, as far as the `warnings` allow.
    """

    values: Floats
    interval: Floats
    band: Floats
    warnings: tuple[str, ...]

    @classmethod
    def of(
        cls, values: Floats, interval: Floats, band: Floats, *, ends_at_one: bool, warnings: tuple[str, ...] = ()
    ) -> Self:
        """From F (b,) at the bins, without the last one where F is 1 there; `interval` and `band` (b, 2)."""
        if not ends_at_one:
            return cls(values, interval, band, warnings)
        both = np.ones((1, 2))
        return cls(np.append(values, 1.0), np.vstack([interval, both]), np.vstack([band, both]), warnings)

    def quantile(self, share: float) -> tuple[int, tuple[int, int], tuple[int, int]]:
        """The bin x with F(x − 1) < share ≤ F(x) of the nearest function, and the first and last that may be it.

        Those of the interval are not refused by the tests of F(x) and F(x − 1), of which each may err on one side only;
        the band inverts that of the whole function. Users beyond the bins count as above all.
        """
        nearest = np.clip(isotonic_regression(self.values).x, 0.0, 1.0)
        return self._first(nearest >= share), self._one(share), self._all(share)

    def _one(self, share: float) -> tuple[int, int]:
        reaches = self.interval[:, 1] >= share
        below = np.append(True, self.interval[:-1, 0] < share)
        kept = np.flatnonzero(reaches & below)
        if not len(kept):
            middle = self._first(self.values >= share)
            return middle, middle
        return int(kept[0]), int(kept[-1])

    def _all(self, share: float) -> tuple[int, int]:
        first, last = self._first(self.band[:, 1] >= share), self._first(self.band[:, 0] >= share)
        return first, max(first, last)

    def _first(self, reached: NDArray[np.bool_]) -> int:
        """The first bin where it holds, or the last bin."""
        return int(np.argmax(reached)) if reached.any() else len(reached) - 1


def quantile_answers(
    domain: Domain, questions: Sequence[Quantile], functions: Mapping[int, DistributionFunction]
) -> tuple[QuantileAnswer, ...]:
    """The answers from the distribution `functions` of the attributes at these places."""
    return tuple(_answer(domain, question, functions[question.attribute]) for question in questions)


def _answer(domain: Domain, question: Quantile, function: DistributionFunction) -> QuantileAnswer:
    member = domain.attributes[question.attribute].label
    value, interval, band = function.quantile(question.share)
    return QuantileAnswer(
        label=question.label,
        value=member(value),
        interval=(member(interval[0]), member(interval[1])),
        band=(member(band[0]), member(band[1])),
    )


def looked_at(bins: int) -> Indices:
    """(m,) the bins whose standard errors are worked out: all, or some of many."""
    return np.arange(bins) if bins <= _ALL_BINS else spread_bins(bins, _SPREAD, _NEAR)


def spread_bins(bins: int, spread: int, near: int) -> Indices:
    """(m,) `spread` bins at equal distances, and `near` from each end to the middle, at growing ones."""
    ends = np.unique(np.rint(np.geomspace(1, max(1.0, bins / 2), near)).astype(np.intp)) - 1
    return np.unique(np.concatenate([np.linspace(0, bins - 1, spread).astype(np.intp), ends, bins - 1 - ends]))


def filled_in(values: Floats, places: Indices, ends: Floats) -> Floats:
    """(b, 2) ends at all bins from the `ends` (m, 2) at the `places`: distances from F, linear between the places."""
    away, every = ends - values[places, None], np.arange(len(values))
    return np.stack([values + np.interp(every, places, side) for side in away.T], axis=1)
