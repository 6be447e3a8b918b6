"""How much higher the right answers are as a share of the left ones: lifts, from the ends of both sides' intervals.

A ratio r is kept if the interval of θ_right − r·θ_left, recovered from the ends of both (Zou and Donner 2008), holds 0.
Of ends ± z standard errors that is Fieller's set (1954); here ends may lie at other distances (Donner and Zou 2012).
So a lift lies on one side of 0 exactly where the recovered difference does, and `beside` keeps it from lying there
where a difference with other ends holds 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats


@dataclass(frozen=True, eq=False)
class Answered:
    """Answers (Q,) of one side with the ends (Q, 2) of their intervals."""

    values: Floats
    ends: Floats

    @property
    def reaches(self) -> tuple[Floats, Floats]:
        """(Q,) how far the ends are below and above the answers; an end that was cut may lie past its answer."""
        low, high = self.ends.T
        return np.maximum(self.values - low, 0.0), np.maximum(high - self.values, 0.0)


def lifts(left: Answered, right: Answered) -> tuple[Floats, Floats]:
    """(Q,) θ_right/θ_left − 1 and (Q, 2) its ends; NaN where the left answer may be 0 or less, which has no lift."""
    told = left.ends[:, 0] > 0
    base, value = np.where(told, left.values, np.nan), np.where(told, right.values, np.nan)
    base_below, base_above = left.reaches
    below, above = right.reaches
    upper = _upper_end(value, above, base, base_below, base_above)
    lower = -_upper_end(-value, below, base, base_below, base_above)
    return value / base - 1, np.column_stack([lower, upper]) - 1


def beside(ends: Floats, differences: Floats) -> Floats:
    """(Q, 2) ends of lifts, which hold 0 where the ends (Q, 2) of the differences do.

    Those may be further than recovered ones: of few reports they are from the law of a report. NaN stays.
    """
    low, high = differences.T
    lower = np.where(low <= 0, np.minimum(ends[:, 0], 0.0), ends[:, 0])
    return np.column_stack([lower, np.where(high >= 0, np.maximum(ends[:, 1], 0.0), ends[:, 1])])


def _upper_end(value: Floats, above: Floats, base: Floats, base_below: Floats, base_above: Floats) -> Floats:
    """The largest r with value − r·base ≥ −√(above² + (r·reach)²), for a `base` whose low end is above 0.

    The reach of the base is the one below it where r ≥ 0, and the one above it where r is negative.
    """
    far = value + above
    grows = np.where(far >= 0, base_below, base_above)
    lead, constant = base**2 - grows**2, value**2 - above**2
    # value²·base² − lead·constant, without the difference of large numbers.
    root = np.sqrt(np.maximum(value**2 * grows**2 + above**2 * lead, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        # Two forms of one root: the first divides by 0 only for a negative r, the second only for a positive one.
        return np.asarray(np.where(far >= 0, (value * base + root) / lead, constant / (value * base - root)))
