"""Which rule of a class predicts the label best, and what is sure of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.analyst.arguments import MAPPING, NUMBER, TEXT, takes
from sordino_analysis.analyst.display import SHOWN, AnswersShown
from sordino_analysis.analyst.estimates import AGGREGATE, PLAN
from sordino_analysis.analyst.plans import Plan
from sordino_analysis.answers.shown import ShownAnswers, shown_answers
from sordino_analysis.answers.table import AnswerTable, joined
from sordino_analysis.arrays import Floats
from sordino_analysis.average_case.answers import AverageCaseAnswer
from sordino_analysis.average_case.rule_estimator import RuleEstimator
from sordino_analysis.estimation.concepts import ConceptEstimate, ConceptEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.figures import SHARE, amount


@dataclass(frozen=True, eq=False, repr=False)
class RankedRules(AnswersShown):
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

    @property
    def table(self) -> AnswerTable:
        """The rules under the names of docs/results.md, by estimated loss."""
        found, order, best = self.estimate, self._order, set(self.estimate.best.tolist())
        columns = {
            "kind": ["concept"] * len(order),
            "label": self.rules,
            "unit": [SHARE] * len(order),
            "value": self.losses.tolist(),
            "population_standard_error": found.standard_errors[order].tolist(),
            "band_lower": self.band[:, 0].tolist(),
            "band_upper": self.band[:, 1].tolist(),
            "width": [found.known.width(rule) for rule in order],
            "may_be_best": [rule in best for rule in order],
        }
        return AnswerTable.of_columns(
            columns, users=found.users, compared=len(order), level=found.level, warnings=joined(found.warnings)
        )

    @property
    def _order(self) -> list[int]:
        order: list[int] = self.estimate.losses.argsort(kind="stable").tolist()
        return order

    def _shown(self) -> ShownAnswers:
        """Those with the least estimated losses."""
        most = f"the loss of {self.chosen} exceeds the least of the class by at most {amount(self.excess, SHARE)}"
        rows = range(min(SHOWN, len(self.estimate.losses)))
        return shown_answers(self.table, "rule", answer="loss", rows=rows).titled("Rules by loss", self.statement, most)


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


@takes(plan=PLAN, aggregate=AGGREGATE, rule=MAPPING | TEXT, level=NUMBER)
def rule_on_average(
    plan: Plan, aggregate: Aggregate, rule: Mapping[str, bool] | str, level: float = 0.95
) -> AverageCaseAnswer:
    """The share of users to whom `rule` says yes: a conjunction needs all its indicators as given, a clause one.

    A rule may be text, `a:on,b:off`; a decision list is one, `a:on=yes,b:off=no,else=yes`.

    From the sum of the reports of a plan whose workload has `scheme: arrangement`. It holds if those whom the rule says
    yes and no to are spread evenly over all combinations of indicators, and has no interval where the reports
    contradict that. Raises EstimationError for other plans, and InvalidValue for an indicator that there is not, or a
    rule of another width.

    >>> asked = workload({
    ...     "name": "both",
    ...     "domain": [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in "abcd"],
    ...     "queries": {"class": "conjunctions", "width": 2, "scheme": "arrangement"},
    ... })
    >>> even = [tuple("on" if n >> i & 1 else "off" for i in range(4)) for n in range(16)] * 2000
    >>> run = simulate(plan(asked, epsilon=2), even, seed=1)
    >>> found = rule_on_average(run.plan, run.aggregate, {"a": True, "b": True})
    >>> abs(found.value - 0.25) < 0.1, found.validity
    (True, 'average_case')
    """
    found = RuleEstimator.of(plan.device, plan.analyst, aggregate, level)
    return found.answer_text(rule) if isinstance(rule, str) else found.answer(rule)
