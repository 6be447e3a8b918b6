"""Any known rule from a round about single indicators, on average over databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sordino_analysis.average_case.answers import AverageCaseAnswer, average_case_answer
from sordino_analysis.average_case.rule_classes import Literals
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.queries import IndicatorQueries
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.estimation.linear_estimate import EstimationError, LinearEstimate
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.questions.linear.on_demand import parse_boxes
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart


@dataclass(frozen=True, eq=False)
class RuleEstimator:
    """A closed round of a plan with `scheme: arrangement`: its indicators' means, from which rules are answered."""

    device: DevicePart
    queries: IndicatorQueries
    indicators: LinearEstimate

    @classmethod
    def of(cls, device: DevicePart, analyst: AnalystPart, aggregate: Aggregate, level: float = 0.95) -> RuleEstimator:
        """Raises EstimationError for other plans, and where there are no reports or they are of another plan."""
        queries = analyst.queries
        if not isinstance(queries, IndicatorQueries):
            raise EstimationError("an answer on average over databases needs a plan with `scheme: arrangement`")
        return cls(device, queries, LinearEstimator.of(device, analyst).estimate(aggregate, level))

    def answer(self, rule: Mapping[str, bool]) -> AverageCaseAnswer:
        """The share of users whom the rule says yes to: every indicator as given, or of a clause one of them.

        Raises InvalidValue for an indicator that there is not, and for a rule of another width than the plan's.
        """
        queries, names = self.queries, tuple(attribute.name for attribute in self.device.domain.attributes)
        literals = Literals.named(names, rule, any_holds=queries.family == "clauses")
        if len(rule) != queries.width:
            raise InvalidValue(
                f"the plan is for {queries.family} of {queries.width} indicators, and the rule has {len(rule)}", rule
            )
        found = self.indicators
        variances = found.population_standard_error**2
        # Characters count an indicator that is on as −1.
        return average_case_answer(-found.unbiased, variances, literals.means(), found.users, found.level)

    def answer_text(self, text: str) -> AverageCaseAnswer:
        """The same for a rule like `dark_mode:on,beta:off`; raises WorkloadError for what is no such text."""
        domain = self.device.domain
        (box,) = parse_boxes(domain, "marginal", (text,))
        sides = zip(domain.attributes, box.sides, strict=True)
        return self.answer({attribute.name: first == 1 for attribute, (first, last) in sides if first == last})
