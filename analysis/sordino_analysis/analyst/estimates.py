"""Estimate from an aggregate: answers with standard errors, intervals and a simultaneous band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.analyst.arguments import NAMES, NUMBER, WrongType, instance, takes
from sordino_analysis.analyst.chosen_items import workload_of_items
from sordino_analysis.analyst.display import html_table, shown, text_table
from sordino_analysis.analyst.frames import Tabular, is_series, values_of_series
from sordino_analysis.analyst.plans import Plan
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.answers_on_demand import Answer, Answerer, answer, answerer_of
from sordino_analysis.estimation.items import MOST_PUBLISHED_ITEMS, ItemEstimate, ItemEstimator
from sordino_analysis.estimation.linear import EstimationError, LinearEstimate, LinearEstimator
from sordino_analysis.estimation.marginals import MarginalEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.figures import amount, span
from sordino_analysis.percentages import percent
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.on_demand import QUESTION_KINDS, QuestionKind
from sordino_analysis.questions.linear.units import units_of
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

# (n, width) bytes, or n payloads: a list, or a column of a data frame.
Reports = NDArray[np.uint8] | Sequence[bytes] | Any
_HEADINGS = ("query", "answer", "std. error", "interval", "consistent")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Estimate(Tabular):
    """Answers to the Q queries of a workload; all arrays are in their `units`, where .01 of a share is one point.

    `values` (Q,) and all ends are cut to [0, 1] where they are shares, `uncut` (Q,) are unbiased; `standard_errors`
    (Q,), `intervals` (Q, 2) and the simultaneous `band` (Q, 2) are about the users who reported; `population_intervals`
    (Q, 2) about the population that they are an independent sample of. `consistent` (Q,) are the answers of the nearest
    true histogram: closer to the truth, and no longer unbiased.
    """

    workload: Workload
    values: Floats
    uncut: Floats
    standard_errors: Floats
    intervals: Floats
    band: Floats
    population_intervals: Floats
    consistent: Floats
    users: int
    level: float
    warnings: tuple[str, ...]
    plan: Plan
    aggregate: Aggregate

    @classmethod
    def of(cls, plan: Plan, aggregate: Aggregate, estimate: LinearEstimate, workload: Workload | None = None) -> Self:
        """The estimate of one closed round with the queries that it answers, those of the plan if none are given."""
        return cls(
            workload=workload or plan.workload,
            plan=plan,
            aggregate=aggregate,
            values=estimate.value,
            uncut=estimate.unbiased,
            standard_errors=estimate.standard_error,
            intervals=np.column_stack([estimate.lower, estimate.upper]),
            band=np.column_stack([estimate.band_lower, estimate.band_upper]),
            population_intervals=np.column_stack([estimate.population_lower, estimate.population_upper]),
            consistent=estimate.consistent,
            users=estimate.users,
            level=estimate.level,
            warnings=estimate.warnings,
        )

    @classmethod
    def of_items(cls, plan: Plan, aggregate: Aggregate, found: ItemEstimate, workload: Workload) -> Self:
        """The estimate of some items of a histogram that is too long to list, by the workload that names them."""
        return cls(
            workload=workload,
            plan=plan,
            aggregate=aggregate,
            values=found.value,
            uncut=found.uncut,
            standard_errors=found.standard_error,
            intervals=found.interval,
            band=found.band,
            population_intervals=found.interval,
            consistent=found.consistent,
            users=found.users,
            level=found.level,
            warnings=found.warnings,
        )

    def answer(self, kind: QuestionKind, *questions: str) -> tuple[Answer, ...]:
        """Answers to questions the workload need not list: a "range", "rectangle", "cell", "marginal" or "quantile".

        `interval` is for a question that was fixed before anybody looked, `band` holds all questions of the kind at
        once. Raises WorkloadError for what is no question about the domain, EstimationError for one that the reports
        leave open, WrongType for another kind and for what is no text.

        >>> answers = estimate(three, Aggregate(600, np.array([300, 200, 100])))
        >>> round(answers.answer("cell", "0")[0].value, 2)
        0.79
        """
        if not isinstance(kind, str) or kind not in QUESTION_KINDS:
            raise WrongType(f"kind must be one of {', '.join(QUESTION_KINDS)}, not {kind!r}", kind)
        for question in questions:
            if not isinstance(question, str):
                raise WrongType(f"write a question as a text, such as '5..20' for a range: not {question!r}", question)
        return answer(self._answerer, self.workload.domain, kind, questions, self.level).answers

    @cached_property
    def _answerer(self) -> Answerer:
        return answerer_of(self.plan.device, self.plan.analyst, self.aggregate)

    @property
    def labels(self) -> list[str]:
        """Names of the Q queries."""
        return self.workload.labels()

    @property
    def units(self) -> list[str]:
        """Of the Q answers: "share", the unit of an attribute, or "" for another number."""
        return units_of(self.workload, range(self.workload.queries))

    def columns(self) -> dict[str, list[Any]]:
        """Plain columns of length Q, which csv.writer takes; `to_pandas` and `to_polars` make a frame of them."""
        return {
            "query": self.labels,
            "unit": self.units,
            "value": self.values.tolist(),
            "uncut": self.uncut.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "lower": self.intervals[:, 0].tolist(),
            "upper": self.intervals[:, 1].tolist(),
            "band_lower": self.band[:, 0].tolist(),
            "band_upper": self.band[:, 1].tolist(),
            "consistent": self.consistent.tolist(),
        }

    def __repr__(self) -> str:
        return "\n".join([self._title, text_table(_HEADINGS, self._rows()), *self.warnings])

    def _repr_html_(self) -> str:
        return html_table(self._title, _HEADINGS, self._rows(), self.warnings)

    @property
    def _title(self) -> str:
        return (
            f"Estimate of {self.workload.name} from {quantity(self.users, 'user')}, intervals at {percent(self.level)}"
        )

    def _rows(self) -> list[tuple[str, ...]]:
        rows = shown(self.workload.queries)
        return [
            (
                self.workload.label(query),
                amount(self.values[query], unit),
                amount(self.standard_errors[query], unit),
                span(self.intervals[query], unit),
                amount(self.consistent[query], unit),
            )
            for query, unit in zip(rows, units_of(self.workload, rows), strict=True)
        ]


# What other functions of the analyst take, too.
PLAN = instance(Plan, advice=", which plan and read_plan make")
AGGREGATE = instance(Aggregate, advice="(count, sums), or what aggregate(plan, reports) makes")


@takes(plan=PLAN, aggregate=AGGREGATE, level=NUMBER)
def estimate(plan: Plan, aggregate: Aggregate, level: float = 0.95) -> Estimate:
    """Unbiased answers to the plan's queries from what the reports of one round add up to.

    `aggregate` holds the count n and the (p,) integer sums of the accumulator. Intervals have probability `level`. Of a
    histogram that is too long to list the answers are those of the 1,000 largest items, whose intervals are the band.
    Raises EstimationError where there are no reports, where the sums are of another plan, and where items are counted
    in the reports one by one, as `items` does.

    >>> answers = estimate(three, Aggregate(600, np.array([300, 200, 100])))
    >>> answers.values.round(2)
    array([0.79, 0.33, 0.  ])
    >>> answers.uncut.round(2)
    array([ 0.79,  0.33, -0.12])
    """
    if not plan.workload.is_listed:
        return _largest_items(plan, aggregate, level)
    found = LinearEstimator.of(plan.device, plan.analyst).estimate(aggregate, level)
    return Estimate.of(plan, aggregate, found)


def _largest_items(plan: Plan, aggregate: Aggregate, level: float) -> Estimate:
    estimator = ItemEstimator(plan.device, plan.analyst)
    if not estimator.randomizer.table_sizes[0]:
        raise EstimationError(
            f"none of {estimator.randomizer.size} items is listed: ask for items by their values with "
            "items(plan, reports, values), which counts them in the reports"
        )
    found = estimator.largest(aggregate, MOST_PUBLISHED_ITEMS, level)
    return Estimate.of_items(plan, aggregate, found, workload_of_items(plan, found.codes, found.labels))


@takes(plan=PLAN, aggregate=AGGREGATE, attributes=NAMES, level=NUMBER)
def marginal(plan: Plan, aggregate: Aggregate, attributes: Sequence[str], level: float = 0.95) -> Estimate:
    """The shares of every cell of some attributes, from a plan of parities or marginals of at least as many.

    The workload need not list them. Intervals are for a question that was fixed before; the band holds all cells of
    all marginals of up to as many attributes as the plan is for, so also those that were chosen after looking. Raises
    EstimationError for attributes that the domain does not have, and where a character of theirs was never measured.
    """
    estimator = MarginalEstimator.of(plan.device, plan.analyst)
    found = estimator.estimate(attributes, aggregate, level)
    return Estimate.of(plan, aggregate, found, estimator.question(attributes).workload)


@takes(plan=PLAN)
def aggregate(plan: Plan, reports: Reports) -> Aggregate:
    """The exact sum of n reports of a plan in any order: (n, width) bytes, or a list or column of n `bytes`.

    Aggregates of the same plan are added with `+`. Raises InvalidValue for another width or type, and for a row that
    the plan's randomizer cannot produce.
    """
    payloads = checked_reports(plan, reports)
    return Aggregate(len(payloads), accumulate(plan.device.randomizer, payloads))


def checked_reports(plan: Plan, reports: Reports) -> NDArray[np.uint8]:
    """The (n, width) reports; raises InvalidValue where one cannot be of the plan."""
    randomizer = plan.device.randomizer
    payloads = _rows_of_bytes(reports)
    if payloads.ndim != 2 or payloads.shape[1] != randomizer.payload_bytes or payloads.dtype != np.uint8:
        raise InvalidValue(
            f"reports must be an (n, {randomizer.payload_bytes}) array of uint8, got {payloads.shape} of "
            f"{payloads.dtype}",
            payloads.shape,
        )
    outside = np.flatnonzero(~randomizer.in_alphabet(payloads))
    if len(outside):
        raise InvalidValue(
            f"{len(outside)} of {len(payloads)} reports are none of this plan, the first in row {outside[0]}: "
            "leave them out, or use the plan that they were made with",
            int(outside[0]),
        )
    return payloads


def _rows_of_bytes(reports: Reports) -> NDArray[Any]:
    """(n, width) of n payloads of one length; anything else as an array that is refused."""
    listed: Any = values_of_series(reports) if is_series(reports) else reports
    if isinstance(listed, list) and listed and all(isinstance(one, bytes) for one in listed):
        lengths = sorted({len(one) for one in listed})
        if len(lengths) > 1:
            raise InvalidValue(f"the reports of a plan have one length, these have {lengths[0]} to {lengths[-1]} bytes")
        return np.frombuffer(b"".join(listed), dtype=np.uint8).reshape(len(listed), lengths[0])
    try:
        return np.asarray(listed)
    except ValueError as error:
        raise InvalidValue("reports must be an (n, width) array of uint8, or n payloads of bytes") from error
