"""How far a quantile of one estimate lies from that of another."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_analysis.analyst.arguments import NUMBER, takes
from sordino_analysis.analyst.comparisons import COMPARABLE, Comparable, side_of
from sordino_analysis.analyst.display import AnswersShown
from sordino_analysis.answers.columns import in_order
from sordino_analysis.answers.findings import findings
from sordino_analysis.answers.shown import ShownAnswers, shown_answers
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.comparisons.columns import columns_of_shifts
from sordino_analysis.comparisons.difference import Verdict
from sordino_analysis.comparisons.quantile_shift import QuantileShift
from sordino_analysis.comparisons.quantile_shift import quantile_shift as shift_of_sides


@dataclass(frozen=True, eq=False, repr=False)
class ComparedQuantile(AnswersShown):
    """A quantile of one estimate less that of another: `found` has the shift, and the table one row."""

    found: QuantileShift

    @property
    def label(self) -> str:
        """What is compared, as people read it."""
        return self.found.label

    @property
    def share(self) -> float:
        """The share of the users who are at or below the quantile."""
        return self.found.share

    @property
    def level(self) -> float:
        """The level of the interval."""
        return self.found.level

    @property
    def unit(self) -> str:
        """That of the interval, "" where the attribute has none."""
        return self.found.unit

    @property
    def interval(self) -> tuple[float, float]:
        """How far the quantiles are apart; an end is infinite where a quantile may lie in a bin without one."""
        return self.found.interval

    @property
    def bins(self) -> tuple[int, int]:
        """The same in bins."""
        return self.found.bins

    @property
    def verdict(self) -> Verdict:
        """Whether the right quantile is surely higher or lower."""
        return self.found.verdict

    @property
    def table(self) -> AnswerTable:
        """The shift under the names of docs/results.md."""
        columns = columns_of_shifts([(self.found, self.found)], "left", "right")
        # Both ends have a column, also where one is open.
        return AnswerTable({"level": self.level, "compared": 1}, {name: columns[name] for name in in_order(columns)})

    def _shown(self) -> ShownAnswers:
        shown = shown_answers(self.table, parts=("interval", "verdict"))
        return shown.titled("right less left", *findings(self.table))


@takes(left=COMPARABLE, right=COMPARABLE, share=NUMBER, level=NUMBER)
def quantile_shift(left: Comparable, right: Comparable, share: float, level: float = 0.95) -> ComparedQuantile:
    """The quantile `share` of `right` less that of `left`, as an interval in the attribute's unit; .5 is the median.

    The two are estimates or simulations of different people, such as the arms of an experiment, whose plans answer
    prefix sums or a histogram of one ordered attribute. Raises NotComparable for others, InvalidValue for a share that
    is not between 0 and 1, and EstimationError for such a level.

    >>> before, after = (Aggregate(6000, np.array([4000, 1000, 1000])), Aggregate(6000, np.array([1000, 1000, 4000])))
    >>> shift = quantile_shift(estimate(three, before), estimate(three, after), .5)
    >>> shift.bins, shift.verdict
    ((2, 2), 'higher')
    """
    return ComparedQuantile(shift_of_sides(side_of(left, level), side_of(right, level), share))
