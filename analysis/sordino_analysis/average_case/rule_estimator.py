"""Any known rule from a round about single indicators, on average over databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sordino_analysis.average_case.answers import AverageCaseAnswer, average_case_answer
from sordino_analysis.average_case.decision_lists import list_of, parse_list
from sordino_analysis.average_case.rule_classes import ClassMeans, Literals
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
        """The share of users to whom the rule says yes: a conjunction needs all its indicators as given, a clause one.

        Raises InvalidValue for an indicator that there is not, for a rule of another width than the plan's, and for a
        plan of lists, which `answer_text` takes.
        """
        if self.queries.family == "lists":
            raise InvalidValue("the plan is for decision lists: give one as text, NAME:VALUE=yes,…,else=no", rule)
        literals = Literals.named(self._names, rule, any_holds=self.queries.family == "clauses")
        return self._answer(len(rule), literals.means())

    def answer_text(self, text: str) -> AverageCaseAnswer:
        """The same for a rule like `dark_mode:on,beta:off`, or a list like `dark_mode:on=yes,beta:off=no,else=yes`.

        Raises WorkloadError for what is no such text, and InvalidValue as `answer` does.
        """
        if self.queries.family != "lists":
            return self.answer(dict(self._test(text)))
        tests, otherwise = parse_list(text)
        items = [(name, on, answer) for test, answer in tests for name, on in self._test(test)]
        listed = list_of(self._names, items, otherwise)
        return self._answer(len(items), listed.means(len(self._names)))

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.device.domain.attributes)

    def _test(self, text: str) -> list[tuple[str, bool]]:
        """The indicators that a text names, each with whether it is on."""
        (box,) = parse_boxes(self.device.domain, "marginal", (text,))
        return [(name, first == 1) for name, (first, last) in zip(self._names, box.sides, strict=True) if first == last]

    def _answer(self, width: int, means: ClassMeans) -> AverageCaseAnswer:
        if width != self.queries.width:
            raise InvalidValue(
                f"the plan is for {self.queries.family} of {self.queries.width} indicators, and the rule has {width}",
                width,
            )
        found = self.indicators
        variances = found.population_standard_error**2
        # Characters count an indicator that is on as −1.
        return average_case_answer(-found.unbiased, variances, means, found.users, found.level)
