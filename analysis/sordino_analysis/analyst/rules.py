"""Which rule of a class predicts the label best, and what is sure of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sordino_analysis.analyst.arguments import NUMBER, takes
from sordino_analysis.analyst.display import SHOWN, html_table, text_table
from sordino_analysis.analyst.estimates import AGGREGATE, PLAN
from sordino_analysis.analyst.plans import Plan
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.concepts import ConceptEstimate, ConceptEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.figures import SHARE, span
from sordino_analysis.percentages import percent
from sordino_shared.quantities import quantity

_HEADINGS = ("rule", "loss", "std. error", "band", "may be the best")


@dataclass(frozen=True, eq=False, repr=False)
class RankedRules:
    """The rules of a class by estimated loss, and statements that hold although the same reports chose the first.

    `statement` is one sentence; `chosen` the rule with the least estimated loss, which exceeds the least of the class
    by at most `excess`; `may_be_best` are the rules that may be the best: the best one is among them.
    """

    estimate: ConceptEstimate

    @property
    def statement(self) -> str:
        return self.estimate.statement

    @property
    def chosen(self) -> str:
        return self.rules[0]

    @property
    def excess(self) -> float:
        return self.estimate.excess

    @property
    def beats_base(self) -> bool:
        """Whether neither saying never nor always may be the best."""
        return self.estimate.beats_base

    @cached_property
    def rules(self) -> list[str]:
        """The Q rules by estimated loss."""
        return [self.estimate.known.text(rule) for rule in self._order]

    @property
    def may_be_best(self) -> list[str]:
        return [self.estimate.known.text(rule) for rule in self.estimate.best.tolist()]

    @property
    def losses(self) -> Floats:
        """(Q,) in the order of `rules`."""
        return self.estimate.losses[self._order]

    @property
    def band(self) -> Floats:
        """(Q, 2) ends that hold all losses at once, in the order of `rules`."""
        return np.column_stack([self.estimate.band_low, self.estimate.band_high])[self._order]

    def columns(self) -> dict[str, list[Any]]:
        """Plain columns of length Q, which a data frame or csv.writer takes."""
        best = set(self.may_be_best)
        return {
            "rule": self.rules,
            "loss": self.losses.tolist(),
            "standard_error": self.estimate.standard_errors[self._order].tolist(),
            "band_lower": self.band[:, 0].tolist(),
            "band_upper": self.band[:, 1].tolist(),
            "may_be_best": [rule in best for rule in self.rules],
        }

    def __repr__(self) -> str:
        return "\n".join([self._title, text_table(_HEADINGS, self._rows()), *self._notes()])

    def _repr_html_(self) -> str:
        return html_table(self._title, _HEADINGS, self._rows(), self._notes())

    @property
    def _order(self) -> list[int]:
        order: list[int] = self.estimate.losses.argsort(kind="stable").tolist()
        return order

    @property
    def _title(self) -> str:
        found = self.estimate
        return (
            f"{quantity(len(found.losses), 'rule')} from {quantity(found.users, 'user')}, statements at "
            f"{percent(found.level)}"
        )

    def _rows(self) -> list[tuple[str, ...]]:
        """Those with the least estimated losses."""
        columns = self.columns()
        return [
            (
                columns["rule"][row],
                percent(columns["loss"][row], 2),
                percent(columns["standard_error"][row], 2),
                span(self.band[row], SHARE),
                "yes" if columns["may_be_best"][row] else "no",
            )
            for row in range(min(SHOWN, len(columns["rule"])))
        ]

    def _notes(self) -> list[str]:
        most = f"the loss of {self.chosen} exceeds the least of the class by at most {percent(self.excess, 2)}"
        return [self.statement, most, *self.estimate.warnings]


@takes(plan=PLAN, aggregate=AGGREGATE, level=NUMBER)
def best_rules(plan: Plan, aggregate: Aggregate, level: float = 0.95) -> RankedRules:
    """Which rule predicts the label best, from the sum of the reports of a plan for a class of rules.

    The statement, the band, the set of rules that may be the best and the excess each hold with probability `level`.
    Raises EstimationError for a plan of other queries, and where there are no reports or the sums are of another plan.

    >>> asked = workload({
    ...     "name": "late",
    ...     "domain": [
    ...         {"name": "hour", "kind": "integers", "low": 0, "high": 3},
    ...         {"name": "late", "kind": "categorical", "labels": ["no", "yes"]},
    ...     ],
    ...     "queries": {"class": "thresholds", "label": {"attribute": "late", "positive": "yes"}},
    ... })
    >>> run = simulate(plan(asked, epsilon=1), [(0, "no"), (1, "no"), (2, "yes"), (3, "yes")] * 5000, seed=1)
    >>> best_rules(run.plan, run.aggregate).statement
    'hour > 1 is the best of 8 rules, and beats never and always'
    """
    return RankedRules(ConceptEstimator.of(plan.device, plan.analyst).estimate(aggregate, level))
