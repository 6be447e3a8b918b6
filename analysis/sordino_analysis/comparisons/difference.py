"""The answers of one estimate less those of another, from the reports of different devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from sordino_analysis.answers.columns import Cell
from sordino_analysis.arrays import Floats
from sordino_analysis.comparisons.lifts import Answered, beside, lifts
from sordino_analysis.comparisons.matching import NotComparable, common_queries, measures_left_out, queries_by_label
from sordino_analysis.comparisons.parts import MeasuredSide, NormalPart, SomeRows
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.doubts import doubts
from sordino_analysis.estimation.few_attributes import MOST_LISTED_TYPES
from sordino_analysis.estimation.intervals import independent_quantile, normal_quantile, simultaneous_quantile
from sordino_analysis.estimation.items import ItemEstimate
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.estimation.linear_estimate import EstimationError, LinearEstimate
from sordino_analysis.estimation.normality import Normality
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.orbit_answers import OrbitAnswerMoments
from sordino_analysis.panel.means import MeanPart, PooledMean, WeightedMean
from sordino_analysis.panel.period_answers import PeriodAnswers
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.columns import columns_of_queries
from sordino_analysis.request_terms import MOST_LEVEL
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.quantities import quantity

Verdict = Literal["higher", "lower", "undecided"]
# Slots of a sample: reporters count as independent draws, whatever share of a population they are.
_SAMPLED = 2
# The note below differences about populations.
DIFFERENT_PEOPLE = (
    "assumes different people on the two sides: a person on both sides is counted as two independent draws"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Side:
    """One of two estimates: Q queries, and independent `parts` (w_b, θ̂_b) with Σ w_b θ̂_b their answers.

    `unasked` is the factor of the variance of the users as independent draws from a population: 0 where all of it
    reported. `aggregates` are the sums of the reports that were counted. `measures` are there where the workload asks
    measures of numbers.
    """

    workload: Workload
    parts: Sequence[tuple[float, MeanPart]]
    aggregates: tuple[Aggregate, ...]
    users: int
    level: float
    unasked: float = 1.0
    warnings: tuple[str, ...] = ()
    measures: MeasuredSide | None = None

    @classmethod
    def of_round(cls, estimator: LinearEstimator, aggregate: Aggregate, level: float) -> Side:
        """A closed round, whose `aggregate` is decoded once; raises EstimationError where there are no reports."""
        if isinstance(estimator.law, OrbitAnswerMoments) and estimator.workload.size > MOST_LISTED_TYPES:
            found = estimator.estimate(aggregate, check_level(level))
            return cls.of_estimate(estimator.workload, found, aggregate, level)
        mean = PooledMean.of(estimator, aggregate, _SAMPLED, check_level(level))
        return cls(
            workload=estimator.workload,
            parts=mean.parts,
            aggregates=(aggregate,),
            users=mean.users,
            level=level,
        )

    @classmethod
    def of_plan(
        cls, device: DevicePart, analyst: AnalystPart, aggregate: Aggregate, level: float, blanket: int = 0
    ) -> Side:
        """A closed round of the plan with these two parts; raises EstimationError for items that are not listed."""
        estimator = LinearEstimator.of(device, analyst).among(aggregate, blanket)
        if not estimator.workload.is_listed:
            raise EstimationError(
                "items that are too many to list are compared in Python: sa.compare of two estimates, with `only`"
            )
        return cls.of_round(estimator, aggregate, level)

    @classmethod
    def of_estimate(
        cls, workload: Workload, found: LinearEstimate | ItemEstimate, aggregate: Aggregate, level: float
    ) -> Side:
        """The answers of an estimate over a large domain, whose errors count as normal."""
        noise = found.standard_error**2
        part = NormalPart(
            answers=found.uncut,
            noise=noise,
            drawn=np.maximum(found.population_standard_error**2 - noise, 0.0),
            users=found.users,
            bias=found.bias_bound if isinstance(found, LinearEstimate) else 0.0,
            level=check_level(level),
        )
        return cls(
            workload=workload,
            parts=[(1.0, part)],
            aggregates=(aggregate,),
            users=found.users,
            level=level,
        )

    @classmethod
    def of_window(cls, found: PeriodAnswers) -> Side:
        """A period or window of a series, at the level of the series."""
        return cls(
            workload=found.workload,
            parts=found.parts,
            aggregates=found.aggregates,
            users=found.reports,
            level=found.level,
            unasked=found.unasked,
            warnings=found.warnings,
        )

    def only(self, rows: Sequence[int]) -> list[tuple[float, MeanPart]]:
        """The parts of some of the queries; all of them are as they are."""
        if list(rows) == list(range(self.workload.queries)):
            return list(self.parts)
        return [(weight, SomeRows(part, rows)) for weight, part in self.parts]


@dataclass(frozen=True, eq=False, kw_only=True)
class Difference:
    """Right less left of Q queries that both answer, in the order of the left one; all arrays (Q,) or (Q, 2).

    `queries` (Q,) are their numbers in the workload of the right side. `mean` has the errors, of which `unasked` says
    what sampling adds; its first `of_left` parts are those of the left side. Unbiased answers are subtracted, never
    best guesses. With `population` the band is about the populations that the users are samples of.
    `common` is the quantile of a band that holds further differences too.
    """

    workload: Workload
    queries: tuple[int, ...]
    left: Floats
    right: Floats
    mean: WeightedMean
    of_left: int
    users: int
    level: float
    population: bool
    bias_bound: float
    warnings: tuple[str, ...]
    common: float | None = None

    @property
    def labels(self) -> list[str]:
        """Names of the Q queries."""
        return [self.workload.label(query) for query in self.queries]

    @property
    def described(self) -> dict[str, Sequence[Cell]]:
        """Kind, label, bounds and unit of the Q queries, as columns."""
        return columns_of_queries(self.workload, self.queries)

    @property
    def value(self) -> Floats:
        """(Q,) unbiased, right less left."""
        return self.mean.answers

    @property
    def standard_error(self) -> Floats:
        """(Q,) about the users who reported on either side."""
        return np.sqrt(self.mean.noise)

    @property
    def population_standard_error(self) -> Floats | None:
        """(Q,) about the populations that they are independent samples of."""
        return np.sqrt(self.mean.noise + self.mean.sampling) if self.population else None

    @cached_property
    def interval(self) -> Floats:
        """(Q, 2) about the users who reported, for a query that was chosen before anybody looked."""
        return self.mean.interval(normal_quantile(self.level))

    @cached_property
    def population_interval(self) -> Floats | None:
        """(Q, 2) about the populations."""
        return self.mean.population_interval(normal_quantile(self.level)) if self.population else None

    @cached_property
    def band(self) -> Floats:
        """(Q, 2) for all compared queries at once, about the populations where these are asked for."""
        return self._ends(self.quantile)

    def _ends(self, quantile: float) -> Floats:
        return (self.mean.population_interval if self.population else self.mean.interval)(quantile)

    @cached_property
    def quantile(self) -> float:
        """How many standard errors the largest of all errors stays within with the level.

        From the covariances of both sides where they are known, else Šidák's, which holds for any (1967).
        """
        if self.common is not None:
            return self.common
        roots = [(weight, part.root(sampled=self.population)) for weight, part in self.mean.parts]
        known = [weight * root for weight, root in roots if root is not None]
        if len(known) < len(roots):
            return independent_quantile(self.level, int(np.count_nonzero(self.mean.noise > 0)))
        return max(simultaneous_quantile(np.hstack(known), self.level), normal_quantile(self.level))

    @property
    def lift(self) -> Floats:
        """(Q,) right over left less 1; NaN where the left answer may be 0 or less."""
        return self.lifted(normal_quantile(self.level))[0]

    @property
    def lift_interval(self) -> Floats:
        """(Q, 2) about whom the band is, for a query that was chosen before anybody looked; NaN as `lift`."""
        return self.lifted(normal_quantile(self.level))[1]

    @property
    def lift_band(self) -> Floats:
        """(Q, 2) for all compared queries at once; NaN where the band of the left answer reaches 0."""
        return self.lifted(self.quantile)[1]

    @property
    def verdict(self) -> tuple[Verdict, ...]:
        """(Q,) whether the right answer is surely higher or lower, by the band."""
        return tuple(verdict_of(low, high) for low, high in self.band.tolist())

    def lifted(self, quantile: float) -> tuple[Floats, Floats]:
        """(Q,) lifts and (Q, 2) their ends so many standard errors away; NaN where the left answer may be 0 or less."""
        unasked = self.mean.unasked if self.population else 0.0
        left = [(-weight, part) for weight, part in self.mean.parts[: self.of_left]]
        sides = [WeightedMean(parts, unasked) for parts in (left, self.mean.parts[self.of_left :])]
        value, ends = lifts(*(Answered(side.answers, side.recovered(quantile, unasked)) for side in sides))
        return value, beside(ends, self._ends(quantile))

    @cached_property
    def normality(self) -> tuple[Normality | None, ...]:
        """(Q,) how often the intervals hold, from the law of both sides' reports; None where it is not known."""
        return self.mean.normality


def difference(left: Side, right: Side, *, only: Sequence[str] | None = None, population: bool = False) -> Difference:
    """Right less left of the queries that both sides ask, `only` those with these labels.

    The noise of different devices is independent, so that variances add. Intervals recover the variance from the ends
    of both sides' own (Zou and Donner 2008); where few reports make up an error they are from the law of a report.
    About populations the sampling of both sides is independent too, which takes different people. Raises NotComparable
    as `common_queries` does, for different levels and for two sides that share reports.
    """
    check_sides(left, right)
    pairs = common_queries(left.workload, right.workload, only)
    ours, theirs = [one for one, _ in pairs], [other for _, other in pairs]
    parts = [(-weight, part) for weight, part in left.only(ours)] + right.only(theirs)
    mean = WeightedMean(parts, max(left.unasked, right.unasked))
    found = Difference(
        workload=right.workload,
        queries=tuple(theirs),
        left=_answers(left, ours),
        right=_answers(right, theirs),
        mean=mean,
        of_left=len(left.parts),
        users=left.users + right.users,
        level=left.level,
        population=population,
        bias_bound=float(sum(abs(weight) * part.bias for weight, part in parts)),
        warnings=(*left.warnings, *right.warnings, *_left_out(left, right, len(pairs), only)),
    )
    own = doubts(found.labels.__getitem__, found.users, found.level, found.normality)
    return replace(found, warnings=(*found.warnings, *own, *([DIFFERENT_PEOPLE] if population else [])))


def check_sides(left: Side, right: Side) -> None:
    """Raise InvalidValue for sides of different levels, NotComparable for those that share reports."""
    if left.level != right.level:
        raise InvalidValue(f"the sides have the levels {left.level} and {right.level}: estimate both at one")
    if any(one is other for one in left.aggregates for other in right.aggregates):
        raise NotComparable(
            "the two sides share reports: compare different rounds, or ask a series for the change between two windows"
        )


def verdict_of(low: float, high: float) -> Verdict:
    """Whether a difference that lies between these ends is above or below 0."""
    return "higher" if low > 0 else "lower" if high < 0 else "undecided"


def check_level(level: float) -> float:
    """The level; raises EstimationError unless it lies between 0 and the largest that is told, `MOST_LEVEL`."""
    if not 0 < level < 1:
        raise EstimationError(f"the level of an interval lies between 0 and 1, got {level}")
    if level > MOST_LEVEL:
        raise EstimationError(
            f"the level of an interval lies between 0 and 1, at most 1 − 10⁻⁹ so that a band has ends, got 1 − "
            f"{1 - level:.0e}"
        )
    return float(level)


def _answers(side: Side, rows: Sequence[int]) -> Floats:
    return np.asarray(sum(weight * part.answers[list(rows)] for weight, part in side.parts))


def _left_out(left: Side, right: Side, common: int, only: Sequence[str] | None) -> tuple[str, ...]:
    """One sentence for each side that answers queries which the other does not, and one for what is not compared."""
    if only is not None:
        return ()
    unasked = max(measures_left_out(left.workload), measures_left_out(right.workload))
    measures = f"not compared: {quantity(unasked, 'measure')} of numbers, sums, deviations or of a category"
    asked = {name: len(queries_by_label(side.workload)) for name, side in (("left", left), ("right", right))}
    return (
        *(
            f"{quantity(count - common, 'query')} of the {name} side are not asked on the other and are left out"
            for name, count in asked.items()
            if count > common
        ),
        *([measures] if unasked else []),
    )
