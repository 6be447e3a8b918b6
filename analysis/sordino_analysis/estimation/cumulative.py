"""Quantiles from the estimated distribution function of an ordered attribute and what may be the true one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.answer_on_demand import Bins, QuantileAnswer, Quantiles, Span
from sordino_analysis.questions.linear.on_demand import Quantile
from sordino_analysis.questions.linear.operators import Indices
from sordino_shared.domains import Domain, Integers, Ordered

# Up to so many bins every one has its own standard error; of more, so many spread over all have, and those near the
# ends, where it changes fast.
_ALL_BINS, _SPREAD, _NEAR = 512, 49, 20
# What sums of 65,536 shares of twelve digits lose.
_ROUNDING = 4e-8


@dataclass(frozen=True, eq=False)
class FunctionEnds:
    """Where F (b,) at the bins of an attribute may lie: `one` (b, 2) at one bin, `every` (b, 2) at all bins at once.

    If the band `every` fails with chance α at most by Bonferroni's inequality, each end of `one` may fail with α/4.
    Where `one` is `cut` with a band of its own, each end of it and that band fail with α/2 at most.
    """

    one: Floats
    every: Floats
    cut: bool = False

    def bins(self, share: float) -> tuple[Bins, Bins]:
        """First and last bin x that may have F(x − 1) < share ≤ F(x): by both, and by the band alone.

        The band excludes the bins up to one where F is below the share for sure, and those after one where it is not.
        It errs about a quantile at a bin's upper end if that is no sooner than the quantile, and at its lower end if
        it is sooner: one end of each bin, so α/2 in all. The tests of F(x) < share and of F(x − 1) ≥ share at the
        quantile err with α/4 each, and what none of the two excludes holds it with 1 − α. Ends that are `cut` need no
        help of the band, which is widened to what they leave.
        """
        low, high = self.every.T
        below = np.flatnonzero(high < share)
        ends = (int(below[-1]) + 1 if len(below) else 0, _first(low >= share))
        # They cross where F rises and falls by more than the band allows for.
        band = min(ends), max(ends)
        first, before = _first(self.one[:, 1] >= share), np.flatnonzero(self.one[:-1, 0] < share)
        last = max(first, int(before[-1]) + 1 if len(before) else 0)
        if self.cut:
            return (first, last), (min(band[0], first), max(band[1], last))
        return (max(first, band[0]), min(last, band[1])), band


def rising_ends(one: Floats, every: Floats, outer: Floats) -> FunctionEnds | None:
    """Ends (b, 2) of `one` bin of a function that never falls, cut by the ends (b, 2) of an `outer` band.

    None where no such function is within that band.
    """
    least, most = np.maximum.accumulate(outer[:, 0]), np.minimum.accumulate(outer[::-1, 1])[::-1]
    if (least > most).any():
        return None
    low, high = np.maximum(one[:, 0], least), np.minimum(one[:, 1], most)
    crossed = low > high
    cut = np.stack([np.where(crossed, least, low), np.where(crossed, most, high)], axis=1)
    return FunctionEnds(cut, every, cut=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class DistributionFunction:
    """F (b + 1,) at the bins of an attribute and, as the last one, beyond them, where it is 1.

    `best` (b + 1,) is that of the best guess, or of the nearest distribution where there is none.
    Of an attribute whose members are all in order nothing is beyond the last bin, which then is that last one.
    """

    values: Floats
    best: Floats
    reporters: FunctionEnds
    population: FunctionEnds
    warnings: tuple[str, ...]

    @classmethod
    def of(
        cls,
        values: Floats,
        reporters: FunctionEnds,
        population: FunctionEnds,
        warnings: tuple[str, ...] = (),
        best: Floats | None = None,
    ) -> Self:
        """From F at the bins where it need not be 1, `values` (bins − 1,), and that of the best guess, `best`."""
        whole = [
            replace(ends, one=_up_to_one(ends.one), every=_up_to_one(ends.every)) for ends in (reporters, population)
        ]
        function = np.append(values, 1.0)
        guess = np.clip(isotonic_regression(function).x, 0.0, 1.0) if best is None else np.append(best, 1.0)
        return cls(values=function, best=guess, reporters=whole[0], population=whole[1], warnings=warnings)

    def quantile(self, share: float) -> Quantiles:
        """The bin x with F(x − 1) < share ≤ F(x) of the best guess, and those that may be it, which it is one of.

        So it is of the population's, whose ends are cut with a band of their own.
        """
        # A share that the guess reaches exactly is lost to the rounding of its sums otherwise.
        value = _first(self.best >= share - _ROUNDING)
        interval, band = (_with(bins, value) for bins in self.reporters.bins(share))
        return Quantiles(value, interval, band, _with(self.population.bins(share)[0], value))


def _with(bins: Bins, value: int) -> Bins:
    return min(bins[0], value), max(bins[1], value)


def _first(reached: NDArray[np.bool_]) -> int:
    """The first place where it holds; at the last it always does."""
    return int(np.argmax(reached))


def _up_to_one(ends: Floats) -> Floats:
    return np.vstack([ends, np.ones((1, 2))])


def quantile_answers(
    domain: Domain, questions: Sequence[Quantile], functions: Mapping[int, DistributionFunction]
) -> tuple[QuantileAnswer, ...]:
    """The answers from the distribution `functions` of the attributes at these places."""
    return tuple(
        quantile_answer(domain, question, functions[question.attribute].quantile(question.share))
        for question in questions
    )


def quantile_answer(domain: Domain, question: Quantile, found: Quantiles) -> QuantileAnswer:
    """The answer in numbers of the attribute."""
    attribute = domain.attributes[question.attribute]
    assert isinstance(attribute, Ordered)
    beyond, may_be_beyond = (bin_ == attribute.bins for bin_ in (found.value, found.interval[1]))

    def span(bins: Bins) -> Span:
        return bin_ends(attribute, bins[0])[0], bin_ends(attribute, bins[1])[1]

    return QuantileAnswer(
        label=question.label,
        unit=attribute.unit,
        bin=_beyond(attribute) if beyond else attribute.label(found.value),
        value=span((found.value, found.value)),
        interval=span(found.interval),
        band=span(found.band),
        population_interval=span(found.population),
        beyond=beyond,
        sentence=f"it may be beyond the last bin, among {_beyond(attribute)}" if may_be_beyond else None,
    )


def _beyond(attribute: Ordered) -> str:
    """The members that have no number, which are above all quantiles."""
    return " or ".join(attribute.label(index) for index in range(attribute.bins, attribute.size))


def bin_ends(attribute: Ordered, index: int) -> Span:
    """(low, high] of a bin, None at an open end and beyond the bins; an integer twice."""
    if index >= attribute.bins:
        return None, None
    if isinstance(attribute, Integers):
        return attribute.low + index, attribute.low + index
    low = float(attribute.edges[index - 1]) if index else None
    return low, float(attribute.edges[index]) if index < attribute.bins - 1 else None


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
