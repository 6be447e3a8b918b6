"""Fieller's sets of a ratio of two answers that err together: every ratio that the reports do not rule out.

A ratio r is kept if N − rD is within z of its own standard errors of 0 (Fieller 1954). That holds the true ratio in as
many campaigns as stated, also where D may be 0; the set then has no ends, or leaves an interval out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sordino_analysis.estimation.intervals import normal_quantile

Range = tuple[float, float]
Shape = Literal["interval", "rays", "anything"]

# Enough users tell a share from 0 in so many of the campaigns; their number has so many figures.
_POWER, _FIGURES = 0.8, 2
# An end is looked for from a thousandth of it on, in steps that double, and found to 2^-40 of the last step.
_FIRST_STEP, _HALVINGS = 1e-3, 40


@dataclass(frozen=True, kw_only=True)
class JointErrors:
    """Variances of the errors of N and D and their covariance, and the most by which each is off on average."""

    numerator: float
    covariance: float
    denominator: float
    numerator_bias: float = 0.0
    denominator_bias: float = 0.0

    def variance(self, ratio: float) -> float:
        """Var(N − rD)."""
        return max(self.numerator - 2 * ratio * self.covariance + ratio**2 * self.denominator, 0.0)

    def bias(self, ratio: float) -> float:
        """The most by which N − rD is off on average."""
        return self.numerator_bias + abs(ratio) * self.denominator_bias


@dataclass(frozen=True, kw_only=True)
class RatioSet:
    """The ratios that are not ruled out: from `low` to `high`, those outside of them where it is `rays`, or all."""

    shape: Shape
    low: float = -math.inf
    high: float = math.inf

    def holds(self, ratio: float) -> bool:
        """Whether a ratio is not ruled out."""
        inside = self.low <= ratio <= self.high
        return inside if self.shape == "interval" else self.shape == "anything" or not inside or ratio in self._ends

    @property
    def _ends(self) -> Range:
        return self.low, self.high

    def within(self, limits: Range) -> RatioSet:
        """The ratios of the set between `limits`, which every ratio lies between; an interval keeps its nearest end."""
        low, high = (min(max(end, limits[0]), limits[1]) for end in self._ends)
        if self.shape == "rays" and low <= limits[0] and high >= limits[1]:
            return RatioSet(shape="anything", low=limits[0], high=limits[1])
        return RatioSet(shape=self.shape, low=low, high=high)


def fieller_set(numerator: float, denominator: float, errors: JointErrors, quantile: float) -> RatioSet:
    """{r: |N − rD| ≤ `quantile`·√Var(N − rD) + bias}; quantile 1.96 keeps the true ratio in 95 % of campaigns.

    The set is an interval exactly where D is more than as many of its standard errors, and its bias, from 0. With a
    bias a set without ends is all ratios.
    """
    unbiased = _quadratic(numerator, denominator, errors, quantile)
    if not errors.numerator_bias and not errors.denominator_bias:
        return unbiased
    if abs(denominator) <= quantile * math.sqrt(errors.denominator) + errors.denominator_bias:
        return RatioSet(shape="anything")

    def excess(ratio: float) -> float:
        reach = quantile * math.sqrt(errors.variance(ratio)) + errors.bias(ratio)
        return abs(numerator - ratio * denominator) - reach

    return RatioSet(
        shape="interval", low=_crossing(excess, unbiased.low, -1.0), high=_crossing(excess, unbiased.high, 1.0)
    )


def enough_users(users: int, share: float, error: float, quantile: float) -> int:
    """How many users show in four of five campaigns that a share is not 0, if `users` of them have the `error`.

    A campaign shows it if the share is `quantile` standard errors above 0: then the set of a ratio with this
    denominator has two ends. Rounded up to two digits. `share` and `error` are above 0.
    """
    reach = quantile + normal_quantile(2 * _POWER - 1)
    needed = users * (reach * error / share) ** 2
    size = int(10 ** max(0, math.floor(math.log10(max(needed, 1.0))) + 1 - _FIGURES))
    return math.ceil(needed / size) * size


def _quadratic(numerator: float, denominator: float, errors: JointErrors, quantile: float) -> RatioSet:
    """The ratios of A r² − 2B r + C ≤ 0, from (N − rD)² ≤ z²·Var(N − rD)."""
    square = quantile**2
    lead = denominator**2 - square * errors.denominator
    middle = numerator * denominator - square * errors.covariance
    constant = numerator**2 - square * errors.numerator
    root = middle**2 - lead * constant
    if lead == 0 or (root < 0 and lead < 0):
        return RatioSet(shape="anything")
    # Of a positive lead rounding alone leaves no root: N/D is one.
    reach, centre = math.sqrt(max(root, 0.0)) / abs(lead), middle / lead
    return RatioSet(shape="interval" if lead > 0 else "rays", low=centre - reach, high=centre + reach)


def _crossing(excess: Callable[[float], float], inside: float, sign: float) -> float:
    """The ratio beyond `inside` at which the excess, which rises from there on in this direction, reaches 0."""
    step = max(abs(inside), 1.0) * _FIRST_STEP
    while excess(inside + sign * step) <= 0:
        step *= 2
    low, high = 0.0, step
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(inside + sign * middle) <= 0 else (low, middle)
    return inside + sign * high
