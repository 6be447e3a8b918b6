"""How far a quantile of one estimate lies from that of another."""

from __future__ import annotations

from sordino_analysis.analyst.arguments import NUMBER, takes
from sordino_analysis.analyst.comparisons import COMPARABLE, Comparable, side_of
from sordino_analysis.comparisons.quantile_shift import QuantileShift
from sordino_analysis.comparisons.quantile_shift import quantile_shift as shift_of_sides


@takes(left=COMPARABLE, right=COMPARABLE, share=NUMBER, level=NUMBER)
def quantile_shift(left: Comparable, right: Comparable, share: float, level: float = 0.95) -> QuantileShift:
    """The quantile `share` of `right` less that of `left`, as an interval in the attribute's unit; .5 is the median.

    The two are estimates or simulations of different people, such as the arms of an experiment, whose plans answer
    prefix sums or a histogram of one ordered attribute. Raises NotComparable for others, InvalidValue for a share that
    is not between 0 and 1, and EstimationError for such a level.

    >>> before, after = (Aggregate(6000, np.array([4000, 1000, 1000])), Aggregate(6000, np.array([1000, 1000, 4000])))
    >>> shift = quantile_shift(estimate(three, before), estimate(three, after), .5)
    >>> shift.bins, shift.verdict
    ((2, 2), 'higher')
    """
    return shift_of_sides(side_of(left, level), side_of(right, level), share)
