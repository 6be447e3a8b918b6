"""Simulate devices: every value goes through the real randomizer of a plan, and the answers are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.analyst.arguments import FLAG, MAPPING, NONE, PATH, SEED, WrongType, takes
from sordino_analysis.analyst.chosen_items import SimulatedItems, simulated_items
from sordino_analysis.analyst.display import AnswersShown, shown
from sordino_analysis.analyst.estimates import ANY_PLAN, Estimate, estimate
from sordino_analysis.analyst.plans import Plan
from sordino_analysis.analyst.string_plans import StringPlan
from sordino_analysis.analyst.string_simulation import StringSimulation, simulate_strings
from sordino_analysis.analyst.tables import device_values, read_table
from sordino_analysis.analyst.users import Values, codes_of, rows_of
from sordino_analysis.answers.shown import ShownAnswers, shown_answers
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.figures import amount
from sordino_analysis.kinds.drawn_rounds import BATCH, randomized
from sordino_analysis.kinds.true_measures import measures_of, true_measures
from sordino_analysis.percentages import percent
from sordino_analysis.questions.linear.concepts.indicators import held_domain
from sordino_analysis.questions.linear.numbers.clipping import ClippedNumbers, clipped_numbers
from sordino_analysis.vectorized.randomizers import draw_blanket
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Simulation(AnswersShown):
    """What an aggregator would hold, what it would answer, and the truth, which only a simulation has.

    `aggregate` is the exact sum of the n reports, `truth` (Q,) the answers without noise. Of a histogram that is too
    long to list the queries are the up to 100 items that most users hold, and `items` has their counts. `clipped` has
    the share of the users beyond each end of the range of each attribute with numbers.
    """

    plan: Plan
    aggregate: Aggregate
    truth: Floats
    items: SimulatedItems | None = None
    clipped: tuple[ClippedNumbers, ...] = ()

    @property
    def blanket(self) -> int:
        """How many of the reports are random ones of a shuffler."""
        return 0 if self.plan.blanket is None else self.plan.blanket.reports

    @cached_property
    def estimate(self) -> Estimate:
        """The answers, with intervals at 95 %."""
        if self.items is None:
            return estimate(self.plan, self.aggregate, blanket=self.blanket)
        return Estimate(
            workload=self.items.workload, plan=self.plan, aggregate=self.aggregate, found=self.items.estimate
        )

    @property
    def errors(self) -> Floats:
        """(Q,) unbiased answer minus truth."""
        return np.asarray(self.estimate.uncut - self.truth)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """(Q,) whether the interval holds the truth; one without ends always does."""
        return _hold(self.estimate.intervals, self.truth)

    @property
    def table(self) -> AnswerTable:
        """That of the estimate with `truth`, `error` and `inside`."""
        known: dict[str, list[Any]] = {"truth": _cells(self.truth), "error": _cells(self.errors)}
        known["inside"] = self.inside.tolist()
        return self.estimate.table.with_columns(**known)

    def _shown(self) -> ShownAnswers:
        rows = shown(len(self.truth))
        answers = shown_answers(self.table, rows=rows, parts=("truth", "answer", "interval", "inside"))
        said = [warning for each in self.clipped for warning in each.warnings]
        answers = replace(answers, warnings=(*answers.warnings, *said))
        return answers.titled(f"Simulation of {self.plan.workload.name}", *self._notes())

    def _notes(self) -> list[str]:
        units = set(self.estimate.units)
        queries, level = len(self.truth), percent(self.estimate.level)
        clipped = [f"clipped: {each}" for each in self.clipped if each.below or each.above]
        inside = f"{int(self.inside.sum())} of {queries} intervals hold the truth"
        # A category that may be empty has no answer, one that nobody is in no truth, and a quantile is a bin.
        errors = self.errors[~np.isnan(self.errors)]
        if len(units) == 1 and len(errors):
            inside += f"; error {amount(float(np.sqrt(np.mean(errors**2))), units.pop())} rms"
        if self.inside.all():
            return [inside, *clipped]
        banded = int(_hold(self.estimate.band, self.truth).sum())
        together = (
            f"the band holds {banded} of {queries}: it holds all at once in {level} of rounds; an interval holds its "
            f"own truth in {level}, and answers of one round err together, so that some rounds miss several"
        )
        return [inside, together, *clipped]


def _hold(ends: Floats, truth: Floats) -> NDArray[np.bool_]:
    """(Q,) whether `ends` (Q, 2) hold the truth (Q,), which is NaN where nobody is asked about; no ends always do."""
    low, high = ends.T
    return np.asarray(np.isinf(ends).all(axis=1) | (low <= truth) & (truth <= high))


def _cells(numbers: Floats) -> list[float | None]:
    """An empty cell for each NaN."""
    return [None if np.isnan(number) else number for number in numbers.tolist()]


@overload
def simulate(plan: Plan, values: Values, *, seed: int, strict: bool = ...) -> Simulation: ...
@overload
def simulate(plan: StringPlan, values: Values, *, seed: int, strict: bool = ...) -> StringSimulation: ...
@takes(plan=ANY_PLAN, seed=SEED, strict=FLAG)
def simulate(
    plan: Plan | StringPlan, values: Values, *, seed: int, strict: bool = True
) -> Simulation | StringSimulation:
    """One report of each user through the plan's own randomizer, added up, answered and compared with the truth.

    A plan for a shuffler has its random reports added and subtracted, as in a campaign.

    `values` has one value for each user: an array (n,) for one attribute or (n, attributes) for several, a list of
    values, tuples or mappings by attribute, or columns that are named as the attributes: a mapping, a data frame of
    pandas or polars, an Arrow table, an array with fields, or what has `__dataframe__` or `to_dict`; for one attribute
    a series, too. Other columns are left out, and an empty cell of a frame or series is a missing value. The same
    `seed` gives the same reports. Of a histogram that is too long to list the up to 100 items that most users
    hold are answered, and a `StringPlan` finds the common strings. With `strict` a value that the domain does not list
    raises InvalidValue; without, it becomes what a device reports. Raises InvalidValue, too, for no values and for
    shapes that do not fit the domain.

    >>> run = simulate(three, np.array([.5, .5, 1.5, 2.5] * 5000), seed=1)
    >>> run.truth
    array([0.5 , 0.25, 0.25])
    >>> run.aggregate.count
    20000
    """
    if isinstance(plan, StringPlan):
        return simulate_strings(plan, values, seed=seed, strict=strict)
    rows = rows_of(plan.domain, values)
    codes = codes_of(plan.domain, rows, strict=strict)
    # What `strict` takes is within the ranges.
    clipped = () if strict else clipped_numbers(plan.domain, rows)
    if not plan.workload.is_listed:
        aggregate, found = simulated_items(plan, codes, rows, SeededRandomness(seed), batch=BATCH)
        return Simulation(plan=plan, aggregate=aggregate, truth=found.truth, items=found, clipped=clipped)
    randomness, blanket = SeededRandomness(seed), 0 if plan.blanket is None else plan.blanket.reports
    aggregate = randomized(plan.device, codes, randomness)
    if blanket:
        random = draw_blanket(plan.device.randomizer, blanket, randomness)
        aggregate += Aggregate(blanket, accumulate(plan.device.randomizer, random))
    return Simulation(plan=plan, aggregate=aggregate, truth=_truth(plan, codes), clipped=clipped)


def _truth(plan: Plan, codes: NDArray[np.uint64]) -> Floats:
    """(Q,) the answers without noise; of numbers the measures, NaN of a category that nobody is in."""
    if plan.workload.has_units:
        return np.array(true_measures(measures_of(plan.workload), codes))
    return plan.workload.truth_of_codes(codes)


class HasDomain(Protocol):
    """A workload or a plan: a question about a domain."""

    @property
    def domain(self) -> Domain:
        """What a user holds."""


@takes(path=PATH, columns=MAPPING | NONE)
def read_csv(path: Path | str, question: HasDomain, columns: Mapping[str, str] | None = None) -> list[Any]:
    """The values of a CSV file with a header, one user a row, for the domain of a workload or plan.

    `columns` maps attributes to columns where their names differ. Returns one mapping for each user, which `simulate`
    takes with strict=False. Raises ColumnError for a file that cannot be read, a missing column, and a value without
    a cell, with its line.
    """
    domain = getattr(question, "domain", None)
    if not isinstance(domain, Domain):
        raise WrongType("read_csv needs a domain: give it a Workload, a Plan or a PairwisePlan", question)
    domain = held_domain(domain)
    names = {name: name for name in domain.value_names}
    unknown = sorted(set(columns or {}) - set(names))
    if unknown:
        raise InvalidValue(f"there is no attribute {unknown[0]!r}; the domain has {', '.join(names)}", unknown)
    names |= columns or {}
    table = read_table(Path(path), list(names.values()))
    return list(device_values(table, domain, names))
