"""One known rule from a plan of single indicators, on average over databases."""

from __future__ import annotations

from collections.abc import Mapping

from sordino_analysis.analyst.arguments import MAPPING, NUMBER, TEXT, takes
from sordino_analysis.analyst.estimates import AGGREGATE, PLAN
from sordino_analysis.analyst.plans import Plan
from sordino_analysis.average_case.answers import AverageCaseAnswer
from sordino_analysis.average_case.rule_estimator import RuleEstimator
from sordino_analysis.evaluation.accumulate import Aggregate


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
