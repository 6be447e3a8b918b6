"""What all kinds share whose workload is written as `queries`: its form, its plan, the attributes that devices hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sordino_analysis.kinds.base import KindOfQuestion, RequestClass
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import WorkloadSpecification, parse_specification
from sordino_analysis.questions.linear.concepts.indicators import held_domain
from sordino_shared.domains import Domain

if TYPE_CHECKING:
    from sordino_analysis.experiments.power import PlannedNoise
    from sordino_analysis.kinds.base import Planned
    from sordino_analysis.planning.sample_size import NeededUsers, Statement


class QueriesKind(KindOfQuestion):
    """A kind that one mechanism answers as linear queries."""

    field = "queries"
    form = WorkloadSpecification

    def parse(self, document: Mapping[str, Any]) -> WorkloadSpecification:
        """The workload that is written."""
        return parse_specification(document)

    def request_class(self) -> RequestClass:
        """One mechanism for all queries."""
        from sordino_analysis.planning.linear_request import LinearRequest

        return LinearRequest

    def needed_users(
        self, question: Any, statement: Statement, options: PlanningOptions, planned: Planned
    ) -> NeededUsers:
        """Users by the exact variances of the plan."""
        from sordino_analysis.planning.sample_size import NeededUsers

        plan = planned(self.request_class().of(question, options))
        return NeededUsers.of_plan(plan, statement, str(options.epsilon))

    def noise_of_arms(self, question: Any, options: PlanningOptions, planned: Planned) -> PlannedNoise:
        """By the exact variances of the plan."""
        from sordino_analysis.experiments.power import PlannedNoise

        return PlannedNoise.of_plan(planned(self.request_class().of(question, options)))

    def scale_and_unit(self, question: Any) -> tuple[float, str] | None:
        """Of measures of one attribute, or of numbers with one range."""
        from sordino_analysis.planning.sample_size import scale_and_unit

        return scale_and_unit(question.build())

    def held_domain(self, question: Any) -> Domain:
        """The attributes of the workload, and those that its indicators are made of."""
        domain: Domain = question.build().domain
        return held_domain(domain)
