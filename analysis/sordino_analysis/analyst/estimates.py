"""Estimate from an aggregate: answers with standard errors, intervals and a simultaneous band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import overload

import numpy as np

from sordino_analysis.analyst.answers import AskedAnswers
from sordino_analysis.analyst.arguments import NAMES, NUMBER, WHOLE, WrongType, check_argument, instance, takes
from sordino_analysis.analyst.chosen_items import workload_of_items
from sordino_analysis.analyst.contrasts import Asked, Contrast, contrast, covariance
from sordino_analysis.analyst.display import AnswersShown, shown
from sordino_analysis.analyst.plans import Plan
from sordino_analysis.analyst.reports import Reports, checked_reports
from sordino_analysis.analyst.string_estimates import StringEstimate, estimate_strings
from sordino_analysis.analyst.string_plans import StringPlan
from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.filling import cells_of_estimate
from sordino_analysis.answers.findings import findings
from sordino_analysis.answers.shown import ShownAnswers, shown_answers
from sordino_analysis.answers.table import AnswerTable, joined
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.answers_on_demand import Answerer, answer, answerer_of
from sordino_analysis.estimation.best.average import BestGuess
from sordino_analysis.estimation.items import MOST_PUBLISHED_ITEMS, ItemEstimate, ItemEstimator
from sordino_analysis.estimation.linear import EstimationError, LinearEstimate, LinearEstimator
from sordino_analysis.estimation.marginals import MarginalEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.kinds.numbers_document import rows_of_measures
from sordino_analysis.kinds.on_demand import unanswered
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.columns import columns_of_queries
from sordino_analysis.questions.linear.on_demand import QUESTION_KINDS, QuestionKind
from sordino_analysis.questions.linear.units import units_of
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Estimate(AnswersShown):
    """AskedAnswers to the Q queries of a workload; all arrays are in their `units`, where .01 of a share is one point.

    `found` is the estimate of one closed round, with the `workload` that it answers. `blanket` of the reports were
    random ones of a shuffler.
    """

    workload: Workload
    plan: Plan
    aggregate: Aggregate
    found: LinearEstimate | ItemEstimate
    blanket: int = 0

    @property
    def values(self) -> Floats:
        """(Q,) the answers: those of shares are cut to [0, 1], as all ends are."""
        return self.found.value

    @property
    def uncut(self) -> Floats:
        """(Q,) the unbiased answers."""
        return self.found.uncut

    @property
    def standard_errors(self) -> Floats:
        """(Q,) about the users who reported."""
        return self.found.standard_error

    @property
    def intervals(self) -> Floats:
        """(Q, 2) about the users who reported."""
        return self.found.interval

    @property
    def band(self) -> Floats:
        """(Q, 2) about the users who reported, for all queries at once."""
        return self.found.band

    @property
    def population_intervals(self) -> Floats:
        """(Q, 2) about the population that the users are an independent sample of."""
        return self.found.population_interval

    @property
    def best(self) -> Floats:
        """(Q,) the answers of the best guess at the users' histogram: nearer to the truth on average, and biased."""
        return self.found.best

    @property
    def best_histogram(self) -> Floats | None:
        """(k,) the shares of all types that the best guesses are of; None where they are of no one histogram."""
        return None if self._guess is None else self._guess.histogram

    @property
    def best_method(self) -> list[dict[str, object]]:
        """What the best guess is the average of: each candidate's `name`, `weight` and estimated `risk`.

        The risk is the squared error over all queries together, as far as it is known.
        """
        return [] if self._guess is None else [asdict(each) for each in self._guess.candidates]

    @property
    def _guess(self) -> BestGuess | None:
        return self.found.guess if isinstance(self.found, LinearEstimate) else None

    @property
    def users(self) -> int:
        """How many reports the answers come from."""
        return self.found.users

    @property
    def level(self) -> float:
        """The level of intervals and band."""
        return self.found.level

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the answers warn of."""
        return self.found.warnings

    def answer(self, kind: QuestionKind, *questions: str, given: str | None = None) -> AskedAnswers:
        """Answers to questions the workload need not list: a "range", "cell", "quantile" and so on.

        The kinds are "range", "rectangle", "cell", "marginal", "quantile", and "mean" of an attribute.
        `interval` is for a question that was fixed before anybody looked, `band` holds all questions of the kind at
        once. With `given`, as "country=DE" or "delay=10..20", answers are about the users of that group: ratios with
        Fieller's intervals, and quantiles. Raises WorkloadError for what is no question or group of the domain,
        EstimationError for one that the reports leave open, WrongType for another kind and for what is no text.
        The `AskedAnswers` are a tuple, and a table: `to_pandas()`, `columns()`.

        >>> answers = estimate(three, Aggregate(600, np.array([300, 200, 100])))
        >>> round(answers.answer("cell", "0")[0].value, 2)
        0.79
        """
        if not isinstance(kind, str) or kind not in QUESTION_KINDS:
            raise WrongType(f"kind must be one of {', '.join(QUESTION_KINDS)}, not {kind!r}", kind)
        for question in questions:
            if not isinstance(question, str):
                raise WrongType(f"write a question as a text, such as '5..20' for a range: not {question!r}", question)
        if given is not None and not isinstance(given, str):
            raise WrongType(f"write a group as a text, such as 'country=DE': not {given!r}", given)
        found = answer(self._answerer, self.workload.held_domain, kind, questions, self.level, given)
        return AskedAnswers(found, kind, epsilon=self.plan.epsilon, mechanism=self.plan.mechanism)

    def contrast(self, weights: Mapping[Asked, float]) -> Contrast:
        """Σ weight · answer: {"B": 1, "A": -1} is B less A, with the exact error of that one row.

        A key is the label of a query, or a pair of a kind and a question as `answer` takes. Raises WorkloadError for
        what is no query, EstimationError where the reports do not determine the row, WrongType for other weights.

        >>> answers = estimate(three, Aggregate(600, np.array([300, 200, 100])))
        >>> first, second, _ = answers.labels
        >>> round(answers.contrast({first: 1, second: -1}).value, 2)
        0.46
        """
        return contrast(self._answerer, self.workload, weights, self.level)

    def covariance(self, queries: Sequence[Asked]) -> Floats:
        """(m, m) the covariance of the errors of m answers about the users who reported, as one round's errors are.

        Queries are named as in `contrast`. Raises WorkloadError and EstimationError as `contrast` does.
        """
        return covariance(self._answerer, self.workload, queries, self.level)

    @cached_property
    def _answerer(self) -> Answerer:
        return answerer_of(self.plan.device, self.plan.analyst, self.aggregate, blanket=self.blanket)

    @property
    def labels(self) -> list[str]:
        """Names of the Q queries."""
        return self.workload.labels()

    @property
    def units(self) -> list[str]:
        """Of the Q answers: "share", the unit of an attribute, or "" for another number."""
        return units_of(self.workload, range(self.workload.queries))

    @cached_property
    def table(self) -> AnswerTable:
        """The answers under the names of docs/results.md, one a row."""
        columns = columns_of_queries(self.workload) | cells_of_estimate(self.found)
        return AnswerTable.of_columns(columns, **self._terms(self.plan.workload.queries))

    def _terms(self, compared: int) -> dict[str, Cell]:
        """What all rows of the table have in common."""
        return {
            "users": self.users,
            "compared": compared,
            "epsilon": self.plan.epsilon,
            "level": self.level,
            "bias_bound": self.plan.analyst.figures.bias_bound,
            "mechanism": self.plan.mechanism,
            "warnings": joined(self.warnings),
        }

    def _shown(self) -> ShownAnswers:
        return shown_answers(self.table, rows=shown(len(self.table))).titled(
            f"Estimate of {self.workload.name}", *findings(self.table)
        )


class NumberEstimate(Estimate):
    """Measures of numbers: the Q answers are those that were asked, of all users and of each category.

    A category that may be empty has no numbers, but NaN, and intervals without ends; the column `sentence` of the table
    says how many users would be enough. `found` has the answers to the plan's own queries, which measures are made of.
    """

    @property
    def values(self) -> Floats:
        """(Q,) the measures."""
        return self._numbers("value")

    @property
    def uncut(self) -> Floats:
        """(Q,) before ratios and variances are clipped to their possible range."""
        return self._numbers("uncut")

    @property
    def standard_errors(self) -> Floats:
        """(Q,) about the users who reported."""
        return self._numbers("standard_error")

    @property
    def intervals(self) -> Floats:
        """(Q, 2) about the users who reported."""
        return self._ends("")

    @property
    def band(self) -> Floats:
        """(Q, 2) about the users who reported, for all measures at once."""
        return self._ends("band_")

    @property
    def population_intervals(self) -> Floats:
        """(Q, 2) about the population that the users are an independent sample of."""
        return self._ends("population_")

    @property
    def best(self) -> Floats:
        """(Q,) of the best guess at the histogram; NaN for what follows from several answers."""
        return self._numbers("best")

    @property
    def labels(self) -> list[str]:
        """Names of the Q measures."""
        return [str(label) for label in self.table.cells("label")]

    @property
    def units(self) -> list[str]:
        """Of the Q measures."""
        return [str(unit or "") for unit in self.table.cells("unit")]

    @cached_property
    def table(self) -> AnswerTable:
        """The measures under the names of docs/results.md, one a row."""
        assert isinstance(self.found, LinearEstimate)
        estimator = LinearEstimator.of(self.plan.device, self.plan.analyst).among(self.aggregate, self.blanket)
        rows = rows_of_measures(estimator, self.aggregate, self.found)
        return AnswerTable.of_rows(rows, **self._terms(len(rows)))

    def _shown(self) -> ShownAnswers:
        return super()._shown().titled(f"Estimate of {self.workload.name}", *unanswered(self.table))

    def _numbers(self, name: str) -> Floats:
        return np.array(self.table.numbers(name))

    def _ends(self, prefix: str) -> Floats:
        return np.array([ends or (-np.inf, np.inf) for ends in self.table.ends(prefix)])


# Of intervals, unless somebody says another one.
_LEVEL = 0.95
# What other functions of the analyst take, too.
PLAN = instance(Plan, advice=", which plan and read_plan make")
ANY_PLAN = instance(Plan, StringPlan, advice=", which plan and read_plan make")
AGGREGATE = instance(Aggregate, advice="(count, sums), or what aggregate(plan, reports) makes")


@overload
def estimate(plan: Plan, aggregate: Aggregate, level: float = ..., *, blanket: int = ...) -> Estimate: ...
@overload
def estimate(plan: StringPlan, aggregate: Reports, *, blanket: int = ...) -> StringEstimate: ...
@takes(plan=ANY_PLAN, level=NUMBER, blanket=WHOLE)
def estimate(
    plan: Plan | StringPlan, aggregate: Aggregate | Reports, level: float = _LEVEL, *, blanket: int = 0
) -> Estimate | StringEstimate:
    """Unbiased answers to the plan's queries from what the reports of one round add up to.

    `aggregate` holds the count n and the (p,) integer sums of the accumulator. Intervals have probability `level`. Of a
    histogram that is too long to list the answers are those of the 1,000 largest items, whose intervals are the band.
    `blanket` of the reports are random ones of a shuffler: their expected sum is subtracted, and their variance is
    part of every error. Strings are found in the reports themselves: with a `StringPlan` give (n, width) bytes, or a
    list or column of n `bytes`; the level is the plan's. Raises EstimationError where there are no reports, where the
    sums are of another plan, and where items are counted in the reports one by one, as `items` does.

    >>> answers = estimate(three, Aggregate(600, np.array([300, 200, 100])))
    >>> answers.values.round(2)
    array([0.79, 0.33, 0.  ])
    >>> answers.uncut.round(2)
    array([ 0.79,  0.33, -0.12])
    """
    if blanket < 0:
        raise InvalidValue(f"a blanket has at least 0 reports, got {blanket}", blanket)
    if isinstance(plan, StringPlan):
        if level != _LEVEL:
            raise InvalidValue("a plan of strings has its own level: ask with common_strings(error=...)", level)
        return estimate_strings(plan, aggregate, blanket)
    check_argument("estimate", "aggregate", AGGREGATE, aggregate)
    assert isinstance(aggregate, Aggregate), "checked"
    if not plan.workload.is_listed:
        if blanket:
            raise EstimationError("items that are too many to list are not estimated behind a shuffler yet")
        return _largest_items(plan, aggregate, level)
    found = LinearEstimator.of(plan.device, plan.analyst).among(aggregate, blanket).estimate(aggregate, level)
    form = NumberEstimate if plan.workload.has_units else Estimate
    return form(workload=plan.workload, plan=plan, aggregate=aggregate, found=found, blanket=blanket)


def _largest_items(plan: Plan, aggregate: Aggregate, level: float) -> Estimate:
    estimator = ItemEstimator(plan.device, plan.analyst)
    if not estimator.randomizer.table_sizes[0]:
        raise EstimationError(
            f"none of {estimator.randomizer.size} items is listed: ask for items by their values with "
            "items(plan, reports, values), which counts them in the reports"
        )
    found = estimator.largest(aggregate, MOST_PUBLISHED_ITEMS, level)
    workload = workload_of_items(plan, found.codes, found.labels)
    return Estimate(workload=workload, plan=plan, aggregate=aggregate, found=found)


@takes(plan=PLAN, aggregate=AGGREGATE, attributes=NAMES, level=NUMBER)
def marginal(plan: Plan, aggregate: Aggregate, attributes: Sequence[str], level: float = 0.95) -> Estimate:
    """The shares of every cell of some attributes, from a plan of parities or marginals of at least as many.

    The workload need not list them. Intervals are for a question that was fixed before; the band holds all cells of
    all marginals of up to as many attributes as the plan is for, so also those that were chosen after looking. Raises
    EstimationError for attributes that the domain does not have, and where a character of theirs was never measured.
    """
    estimator = MarginalEstimator.of(plan.device, plan.analyst)
    found = estimator.estimate(attributes, aggregate, level)
    workload = estimator.question(attributes).workload
    return Estimate(workload=workload, plan=plan, aggregate=aggregate, found=found)


@takes(plan=PLAN)
def aggregate(plan: Plan, reports: Reports) -> Aggregate:
    """The exact sum of n reports of a plan in any order: (n, width) bytes, or a list or column of n `bytes`.

    Aggregates of the same plan are added with `+`. Raises InvalidValue for another width or type, and for a row that
    the plan's randomizer cannot produce.
    """
    payloads = checked_reports(plan, reports)
    return Aggregate(len(payloads), accumulate(plan.device.randomizer, payloads))
