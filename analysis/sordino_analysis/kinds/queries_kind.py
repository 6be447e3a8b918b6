"""What all kinds share whose workload is written as `queries`: its form, its plan, the attributes that devices hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sordino_analysis.kinds.base import KindOfQuestion, RequestClass
from sordino_analysis.questions.linear import WorkloadSpecification, parse_specification
from sordino_analysis.questions.linear.concepts.indicators import held_domain
from sordino_shared.domains import Domain


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

    def held_domain(self, question: Any) -> Domain:
        """The attributes of the workload, and those that its indicators are made of."""
        domain: Domain = question.build().domain
        return held_domain(domain)
