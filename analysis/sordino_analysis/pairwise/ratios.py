"""Ratios of two forms: Fieller's intervals, which hold where the denominator may be zero too, and whether it is zero.

A statistic with denominators is offset + u₀/d(u₁ …) for a d that is homogeneous of degree 1. A value r of the ratio is
in the set if the form W₀ − rD, D = Σ_j ∂d/∂u_j W_j, is not told from zero; it is so in as many campaigns as stated,
whatever the denominator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import NEARLY_ZERO, TINY, Floats
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.error_moments import ErrorMoments
from sordino_analysis.pairwise.quadratic_error import QuadraticError, accepted
from sordino_analysis.questions.pairwise import PairwiseStatistic

# Where a denominator is zero, a value is published in at most so many campaigns: the bound is Chernoff's and holds for
# every number of reports and every histogram.
MADE_UP = 1e-4
# Exponents of Chernoff's bound that are tried, over the largest score.
_TILTS = np.geomspace(1e-3, 30.0, 48)
# Values of the ratio that are tried: over all it can be, and close to the estimate, in its standard errors.
_POINTS, _CLOSE, _FAR = 41, 6.0, 1e3
# A polynomial of degree four is known at five places.
_NODES = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class Ratio:
    """The ratio near the forms' values: N = `numerator` and D = `denominator` (k, k), and what the ratio can be."""

    numerator: Floats
    denominator: Floats
    offset: float
    low: float
    high: float

    @classmethod
    def of(cls, statistic: PairwiseStatistic, values: Floats) -> Ratio:
        """At forms' values (J,) whose denominators are positive."""
        inverse = float(statistic.gradient(values)[0])
        slopes = -statistic.gradient(np.append(1.0, values[1:])) / inverse**2
        denominator = sum(slopes[j] * statistic.forms[j].matrix for j in range(1, len(statistic.forms)))
        offset = statistic.combine(np.append(0.0, values[1:]))
        low, high = statistic.limits
        return cls(
            numerator=statistic.forms[0].matrix,
            denominator=np.asarray(denominator),
            offset=offset,
            low=low - offset,
            high=high - offset,
        )

    def form(self, ratio: float) -> Floats:
        """W₀ − rD, whose value is zero at the true r. Shape (k, k)."""
        return self.numerator - ratio * self.denominator

    def cut(self, ratio: float, beyond: float = 0.0) -> float:
        """The nearest value that the ratio can have, or one that is `beyond` by a share of its range."""
        reach = beyond * (self.high - self.low)
        return min(max(ratio, self.low - reach), self.high + reach)


@dataclass(frozen=True, eq=False)
class FiellerSet:
    """The values from `low` to `high` of the ratio that are no surprise, as far as its range beyond what it can have.

    `unbounded` if it would have no end where the ratio could be anything: the denominator is not told from zero.
    """

    low: float
    high: float
    unbounded: bool


def fieller_nodes(ratio: Ratio, centre: float) -> Floats:
    """(5,) the ratios r at which a polynomial of degree four in r has to be known; the third is `centre`."""
    return np.asarray(centre + (ratio.high - ratio.low) * np.linspace(-1.0, 1.0, _NODES))


def fieller_set(
    ratio: Ratio,
    nodes: Floats,
    moments: list[ErrorMoments],
    value: Callable[[Floats], Floats],
    gap: float,
    level: float,
) -> FiellerSet:
    """The hull of all r in which `value(r)`, the estimate of N − rD, is within its quantiles if it is truly zero.

    `gap` is the first round's value less `value`, for all r. `moments` are those of the error at the `nodes` of
    `fieller_nodes`, and the set is looked at closely around the third of them. `nodes` (5,).
    """
    centre, width = nodes[2], ratio.high - ratio.low

    def margin(places: Floats) -> Floats:
        error = QuadraticError(ErrorMoments.between(places, nodes, moments), gap)
        return error.margin(value(places), level)

    slope = abs(float(value(centre + 1.0) - value(centre)))
    scale = min(QuadraticError(moments[2], gap).standard_error / max(slope, NEARLY_ZERO), width)
    close = centre + _CLOSE * scale * np.linspace(-1.0, 1.0, _POINTS)
    # Beyond what can be too, so that an interval that leaves it is seen to.
    around = np.linspace(ratio.low - width, ratio.high + width, 3 * _POINTS)
    low, high = accepted(margin, np.union1d(close, around))
    far = margin(centre + _FAR * width * np.array([-1.0, 1.0]))
    if np.isnan(low):
        return FiellerSet(float(around[0]), float(around[-1]), unbounded=True)
    return FiellerSet(low, high, unbounded=bool((far >= 0).any()))


def may_be_zero(statistic: PairwiseStatistic, reports: DecodedReports) -> bool:
    """Whether all users may be alike in what a denominator compares: false by chance at most once in 10,000.

    A denominator is zero where all users are in the types that one row of it is zero for; then the mean of that row
    over the reports is a mean of independent terms of mean zero.
    """
    return any(
        _chance_of_alike(row, reports) > MADE_UP
        for index in statistic.denominators
        for row in np.unique(statistic.forms[index].matrix, axis=0)
        if row.any()
    )


def _chance_of_alike(row: Floats, reports: DecodedReports) -> float:
    """A bound on the chance of as large a mean of `row` over the reports, if no user's type were in it (Chernoff)."""
    law: DecodedReportMoments = reports.law
    chance = float(row @ reports.histogram)
    if chance <= 0:
        return 1.0
    scores = row @ law.decoder
    tilts = _TILTS / max(float(np.abs(scores).max()), TINY)
    growth = np.exp(np.outer(tilts, scores)) @ law.kernel[:, row == 0]
    exponents = reports.users * (np.log(growth.max(axis=1)) - tilts * chance)
    return float(np.exp(min(float(exponents.min()), 0.0)))
