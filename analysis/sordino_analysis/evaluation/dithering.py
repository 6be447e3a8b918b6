"""Moments of reports whose value was rounded to a knot at random, exact or as a bound.

Given the member U a report is a mixture of the inner randomizer's laws: first and second moments are those of the
types, mixed by their chances. Between two knots the mean is linear and the variance is that of the two types, mixed,
plus f(1 − f)·d² for the distance d of their means and the chance f of the upper one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.accumulator_moments import AccumulatorMoments
from sordino_shared.randomizers import Dithered


def chances_of_types(dithered: Dithered, shape: Sequence[int]) -> Floats:
    """(types, k) the chance of each type of the inner randomizer for each cell of a domain of this shape."""
    tables = [_chances(knots, size) for knots, size in zip(dithered.knots, shape, strict=True)]
    return reduce(lambda left, right: np.asarray(np.kron(left, right)), tables)


def _chances(knots: Sequence[int], size: int) -> Floats:
    """(types, members) of one attribute; the members that have no order come last and are types of their own."""
    if not knots:
        return np.eye(size)
    trailing = size - 1 - knots[-1]
    table = np.zeros((len(knots) + trailing, size))
    places = np.searchsorted(knots, np.arange(knots[-1]), side="right") - 1
    ends = np.array(knots)
    for member, place in enumerate(places.tolist()):
        share = (member - ends[place]) / (ends[place + 1] - ends[place])
        table[place : place + 2, member] = 1 - share, share
    table[len(knots) - 1 :, knots[-1] :] = np.eye(1 + trailing)
    return table


@dataclass(frozen=True, eq=False)
class MixedMoments(AccumulatorMoments):
    """s of a type that is drawn with `chances` (types, k) first, and then as `inner` says for the types. Exact."""

    inner: AccumulatorMoments
    chances: Floats

    def means(self, rows: Floats) -> Floats:
        return np.asarray(self.inner.means(rows) @ self.chances)

    def variances(self, rows: Floats) -> Floats:
        means = self.inner.means(rows)
        second = self.inner.variances(rows) + means**2
        return np.asarray(second @ self.chances - (means @ self.chances) ** 2)

    def covariance(self, rows: Floats, histogram: Floats) -> Floats:
        means, types = self.inner.means(rows), self.chances @ histogram
        mixed = means @ self.chances
        second = self.inner.covariance(rows, types) + (means * types) @ means.T
        return np.asarray(second - (mixed * histogram) @ mixed.T)

    def mean_error(self, rows: Floats) -> Floats:
        return self.inner.mean_error(rows)


@dataclass(frozen=True, eq=False)
class KnotMoments(AccumulatorMoments):
    """The same by the types, where values are too many to list: a bound for every value that may become the type.

    `types` is the shape of the types and `knots` has those of each attribute, empty where it is not rounded. Variances
    are the largest of any value that becomes the type; covariances are at least those of the values, whatever these are
    between the knots. Of several rounded attributes each mean depends on one: roundings are independent, and those of
    the others mix variances, which are then at most the largest.
    """

    inner: AccumulatorMoments
    types: tuple[int, ...]
    knots: tuple[tuple[int, ...], ...]

    def means(self, rows: Floats) -> Floats:
        return self.inner.means(rows)

    def variances(self, rows: Floats) -> Floats:
        worst, means = self.inner.variances(rows), self.inner.means(rows)
        for axis in self._rounded:
            worst = self._worst_along(axis, worst, means)
        return worst

    def covariance(self, rows: Floats, histogram: Floats) -> Floats:
        """(Q, Q) for `rows` (Q, columns) and `histogram` (types,).

        Where shares a and b of the users become two neighbours, at most ab/(a + b) of f(1 − f) is between them.
        """
        found, by_type = self.inner.covariance(rows, histogram), self.inner.means(rows)
        for axis in self._rounded:
            means, shares = self._by_axis(axis, by_type), np.moveaxis(histogram.reshape(self.types), axis, 0)
            for place, _ in self._spans(axis):
                steps = (means[:, place + 1] - means[:, place]).reshape(len(rows), -1)
                low, high = shares[place].ravel(), shares[place + 1].ravel()
                together = np.divide(low * high, low + high, out=np.zeros_like(low), where=low + high > 0)
                found = found + (steps * together) @ steps.T
        return np.asarray(found)

    def mean_error(self, rows: Floats) -> Floats:
        return self.inner.mean_error(rows)

    @property
    def _rounded(self) -> list[int]:
        return [axis for axis, knots in enumerate(self.knots) if knots]

    def _worst_along(self, axis: int, variances: Floats, by_type: Floats) -> Floats:
        """(b, types) the largest variances of values that are rounded along one axis."""
        own, means = self._by_axis(axis, variances), self._by_axis(axis, by_type)
        worst = own.copy()
        for place, span in self._spans(axis):
            between = _largest_between(own[:, place], own[:, place + 1], means[:, place + 1] - means[:, place], span)
            for end in (place, place + 1):
                np.maximum(worst[:, end], between, out=worst[:, end])
        return np.asarray(np.moveaxis(worst, 1, 1 + axis).reshape(len(variances), -1))

    def _by_axis(self, axis: int, values: Floats) -> Floats:
        """(b, types of a rounded attribute, …) of (b, types)."""
        return np.moveaxis(values.reshape(len(values), *self.types), 1 + axis, 1)

    def _spans(self, axis: int) -> Iterator[tuple[int, int]]:
        """The place of each knot with members above it, and how many steps it is to the next one."""
        for place, (low, high) in enumerate(pairwise(self.knots[axis])):
            if high > low:
                yield place, high - low


def _largest_between(low: Floats, high: Floats, steps: Floats, span: int) -> Floats:
    """The largest (1 − f)·low + f·high + f(1 − f)·steps² over f = 0, 1/span, …, 1: next to the parabola's top."""
    squares = steps**2
    lean = np.divide(high - low, 2 * squares, out=np.sign(high - low), where=squares > 0)
    top = np.clip(0.5 + lean, 0.0, 1.0) * span
    chances = [np.clip(near, 0, span) / span for near in (np.floor(top), np.ceil(top))]
    return np.asarray(np.maximum(*((1 - f) * low + f * high + f * (1 - f) * squares for f in chances)))
