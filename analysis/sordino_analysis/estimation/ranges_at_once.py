"""What the answers to all ranges of one ordered attribute, at once and with the simplex, say of any of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.estimation.band import OUTER_SHARE
from sordino_analysis.estimation.consistency import NearestHistogram
from sordino_analysis.estimation.intervals import (
    bonferroni_quantile,
    difference_quantiles,
    independent_quantile,
    normal_quantile,
    smoothed,
)
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.estimation.linear_estimate import Ends, SimplexBounds, around, contradiction
from sordino_analysis.estimation.range_bounds import RangeBounds, RangesOfTypes
from sordino_analysis.estimation.sampling import SampledAnswers
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.questions.linear.operators import Indices

# Types of which all ranges are drawn together and paths are found, in two seconds.
MOST_TYPES = 512


@dataclass(frozen=True, eq=False, kw_only=True)
class RangesAtOnce:
    """Bounds of any range about the `reporters` and the `population`, and of all of them `at_once`.

    Those that are None are not known. Where no users have all answers within their band, nothing is known, and the
    `warning` says so.
    """

    reporters: RangeBounds | None
    population: RangeBounds | None = None
    at_once: RangeBounds | None = None
    warning: str | None = None

    def of(self, starts: Indices, stops: Indices, *, every: bool) -> SimplexBounds | None:
        """Bounds of the ranges from `starts` (m,) up to before `stops` (m,), with a band of `every` range or none."""
        if self.reporters is None:
            return None

        def ends(bounds: RangeBounds | None) -> Ends | None:
            return None if bounds is None else bounds.of(starts, stops)

        at_once = ends(self.at_once) if every else None
        reporters = self.reporters.of(starts, stops)
        return SimplexBounds(reporters=reporters, population=ends(self.population), at_once=at_once)


def every_range(
    steps: LinearEstimator, nearest: NearestHistogram, aggregate: Aggregate, level: float, bias: float
) -> RangesAtOnce | None:
    """From the `steps` of a distribution function, F at each type but the last.

    Errors are drawn with the exact covariance of all steps. None where errors are not known to be normal.
    """
    size, users, z = steps.workload.size, steps.users(aggregate), normal_quantile(level)
    ranges, outer = RangesOfTypes.all_of(size), 1 - (1 - level) * OUTER_SHARE
    count = len(ranges.starts)
    found = steps.estimate_among(nearest, aggregate, level, count, bias)
    root = steps.law.covariance_root(smoothed(nearest.histogram, users, z))
    if root is None or found.reliability.band.outer is None:
        return None
    # How much further the most skewed of these errors goes than a normal one.
    bending = found.reliability.band.outer / bonferroni_quantile(outer, count)
    padded = np.pad(root, ((1, 1), (0, 0)))
    covariance, function = padded @ padded.T, np.concatenate([[0.0], found.unbiased, [1.0]])
    starts, stops = ranges.starts, ranges.stops
    own = covariance.diagonal()
    noise = np.maximum(own[starts] + own[stops] - 2 * covariance[starts, stops], 0.0)
    shares = np.diff(np.concatenate([[0.0], np.cumsum(nearest.histogram)])[np.stack([starts, stops])], axis=0)[0]
    drawn = SampledAnswers(shares, shares, np.zeros(1), np.ones(1)).smoothed(users, z)
    errors, population = (np.sqrt(each / users) for each in (noise, noise + np.where(noise > 0, drawn, 0.0)))
    quantiles = [bending * each for each in difference_quantiles(covariance, [outer, level])]
    looks = (quantiles[0], errors), (independent_quantile(outer, count), population), (quantiles[1], errors)
    answers = function[stops] - function[starts]
    outside, drawn_too, inside = (ranges.implied(*around(answers, each, about, 2 * bias)) for each, about in looks)
    return _known(outside, drawn_too, inside, level)


def listed_ranges(
    estimator: LinearEstimator, nearest: NearestHistogram, aggregate: Aggregate, level: float
) -> RangesAtOnce | None:
    """From the ranges that a plan lists; None where it lists none and where errors are not known to be normal."""
    ranges = RangesOfTypes.of(estimator.workload.operator)
    if ranges is None:
        return None
    found = estimator.estimate_uncut(nearest, aggregate, level)
    outer = found.reliability.band.outer
    if outer is None:
        return None
    drawn = independent_quantile(1 - (1 - level) * OUTER_SHARE, len(found.unbiased))
    looks = (outer, found.standard_error), (drawn, found.population_standard_error)
    outside, drawn_too = (ranges.implied(*around(found.unbiased, z, about, found.bias_bound)) for z, about in looks)
    return _known(outside, drawn_too, None, level)


def _known(
    reporters: RangeBounds | None, population: RangeBounds | None, at_once: RangeBounds | None, level: float
) -> RangesAtOnce:
    warning = contradiction(level) if reporters is None else None
    return RangesAtOnce(reporters=reporters, population=population, at_once=at_once, warning=warning)
