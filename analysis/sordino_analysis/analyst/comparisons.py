"""Compare two estimates of different devices: which answers are higher, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, singledispatch
from typing import Literal

from sordino_analysis.analyst.arguments import FLAG, NAMES, NONE, NUMBER, TEXT, Kind, WrongType, takes
from sordino_analysis.analyst.display import AnswersShown, shown
from sordino_analysis.analyst.estimates import Estimate
from sordino_analysis.analyst.simulation import Simulation
from sordino_analysis.answers.findings import findings
from sordino_analysis.answers.shown import ShownAnswers, shown_answers
from sordino_analysis.answers.table import AnswerTable, joined
from sordino_analysis.arrays import Floats
from sordino_analysis.comparisons.columns import columns_of_difference
from sordino_analysis.comparisons.difference import Side, Verdict, check_level
from sordino_analysis.comparisons.matching import NotComparable
from sordino_analysis.comparisons.measures import AnyDifference, compared
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.experiments.decided import without_verdicts
from sordino_analysis.kinds.asked_side import side_of_distribution
from sordino_analysis.kinds.measured_side import with_measures
from sordino_analysis.panel.period_answers import PeriodAnswers
from sordino_shared.errors import InvalidValue

Comparable = Estimate | Simulation | PeriodAnswers


@dataclass(frozen=True, eq=False, repr=False)
class EstimateComparison(AnswersShown):
    """The answers of `right` less those of `left` to the Q queries that both were asked, in their units.

    `found` has the errors; `left` and `right` are the names that were given. Verdicts are `withheld` where the counts
    of an experiment's arms contradict their weights.
    """

    found: AnyDifference
    left: str
    right: str
    _: KW_ONLY
    withheld: bool = False

    @property
    def labels(self) -> list[str]:
        """Names of the Q queries."""
        return self.found.labels

    @property
    def values(self) -> Floats:
        """(Q,) unbiased answers of the right side less those of the left one."""
        return self.found.value

    @property
    def standard_errors(self) -> Floats:
        """(Q,) about the users who reported on either side."""
        return self.found.standard_error

    @property
    def intervals(self) -> Floats:
        """(Q, 2) about the users who reported, each for a query that was chosen before anybody looked."""
        return self.found.interval

    @property
    def band(self) -> Floats:
        """(Q, 2) for all compared queries at once; with `population` about the populations."""
        return self.found.band

    @property
    def population_intervals(self) -> Floats | None:
        """(Q, 2) about the populations; None unless they were asked for."""
        return self.found.population_interval

    @property
    def lifts(self) -> Floats:
        """(Q,) right over left less 1: .1 is 10 % more; NaN where the left answer may be 0 or less."""
        return self.found.lift

    @property
    def lift_intervals(self) -> Floats:
        """(Q, 2) of the lifts, about those whom the band is about; NaN as `lifts`."""
        return self.found.lift_interval

    @property
    def verdicts(self) -> Sequence[Verdict | Literal["withheld"]]:
        """(Q,) "higher" or "lower" where the band says that the right answer is, else "undecided" or "withheld"."""
        return ["withheld"] * len(self.labels) if self.withheld else self.found.verdict

    @property
    def findings(self) -> tuple[str, ...]:
        """What the band says, in sentences."""
        return findings(self.table)

    @property
    def level(self) -> float:
        """The level of intervals and band."""
        return self.found.level

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the answers warn of."""
        return self.found.warnings

    @cached_property
    def table(self) -> AnswerTable:
        """The differences under the names of docs/results.md, one a row."""
        found = self.found
        columns = columns_of_difference(found, self.left, self.right)
        return AnswerTable.of_columns(
            without_verdicts(columns) if self.withheld else columns,
            users=found.users,
            compared=len(found.labels),
            level=found.level,
            bias_bound=found.bias_bound,
            warnings=joined(found.warnings),
        )

    def _shown(self) -> ShownAnswers:
        parts = ("answer", "std. error", "interval", "band", "lift", "verdict")
        answers = shown_answers(self.table, answer="difference", rows=shown(len(self.table)), parts=parts)
        return answers.titled(f"{self.right} less {self.left}", *self.findings)


COMPARABLE = Kind(
    "an estimate, a simulation, or a period or window of a series",
    lambda value: isinstance(value, (Estimate, Simulation, PeriodAnswers)),
)


@takes(
    left=COMPARABLE,
    right=COMPARABLE,
    level=NUMBER,
    population=FLAG,
    only=NAMES | NONE,
    names=NAMES,
    distribution=TEXT | NONE,
)
def compare(
    left: Comparable,
    right: Comparable,
    level: float = 0.95,
    population: bool = False,
    *,
    only: Sequence[str] | None = None,
    names: Sequence[str] = ("left", "right"),
    distribution: str | None = None,
) -> EstimateComparison:
    """The answers of `right` less those of `left`, with intervals, a band over all of them, lifts, and verdicts.

    The two are estimates, simulations, or periods or windows of two series, over the same domain; their queries are
    matched by label and row, measures of numbers by their labels, `only` those with these labels. In place of them all
    steps of the `distribution` function of an ordered attribute are compared. Their plans and ε may differ. Answers are
    about the users who reported on either side; with `population` also about the people that these are samples of,
    which assumes different people on the two sides. Raises NotComparable with the first difference between two domains
    or rows, and where there is no query in common, EstimationError for a level that is not between 0 and 1,
    WorkloadError for an attribute that has no distribution, and InvalidValue for a level that is not that of a series,
    and where both `only` and `distribution` are given.

    >>> before, after = (Aggregate(6000, np.array([3000, 2000, 1000])), Aggregate(6000, np.array([2000, 3000, 1000])))
    >>> print(*compare(estimate(three, before), estimate(three, after)).findings, sep="\\n")
    2 of 3 answers differ
    value: ≤ 1 is lower: right − left = −45.8 % (band −51.1 … −40.4 %)
    value: (1, 2] is higher: right − left = 45.8 % (band 40.4 … 51.1 %)
    """
    if len(names) != 2:
        raise WrongType(f"compare: names must be two names, for the left and the right side, not {names!r}", names)
    if only is not None and distribution is not None:
        raise InvalidValue("compare: give only or distribution, not both", distribution)
    check_level(level)
    sides = [asked_side_of(each, level, distribution) for each in (left, right)]
    found = compared(sides[0], sides[1], only=only, population=population)
    return EstimateComparison(found, *names)


def asked_side_of(given: Comparable, level: float, distribution: str | None) -> Side:
    """The side that is compared at this level, or the distribution of it that is asked; raises as `compare` does."""
    estimate = given.estimate if isinstance(given, Simulation) else given
    if distribution is None:
        return side_of(estimate, level)
    if not isinstance(estimate, Estimate):
        raise NotComparable("a distribution is asked of estimates: of a series compare its prefix sums", distribution)
    plan, aggregate = estimate.plan, estimate.aggregate
    return side_of_distribution(plan.device, plan.analyst, aggregate, level, distribution, estimate.blanket)


@singledispatch
def side_of(given: Comparable, level: float) -> Side:
    """What is compared, at this level; raises WrongType for what cannot be."""
    raise WrongType(f"{type(given).__name__} cannot be compared: give an estimate", given)


@side_of.register
def _(given: Estimate, level: float) -> Side:
    plan = given.plan
    if given.workload is not plan.workload:
        return Side.of_estimate(given.workload, given.found, given.aggregate, level)
    estimator = LinearEstimator.of(plan.device, plan.analyst).among(given.aggregate, given.blanket)
    return with_measures(Side.of_round(estimator, given.aggregate, level), estimator, given.aggregate)


@side_of.register
def _(given: Simulation, level: float) -> Side:
    return side_of(given.estimate, level)


@side_of.register
def _(given: PeriodAnswers, level: float) -> Side:
    if given.level != level:
        raise InvalidValue(
            f"the answers of a series are at its own level, {given.level}, and not at {level}: give compare that "
            f"level, or make the series with level={level}",
            level,
        )
    return Side.of_window(given)
