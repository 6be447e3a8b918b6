"""Whether a workload can be asked of a dataset, before anything is spent; checked in a process of its own."""

from __future__ import annotations

import json

from sordino_shared.errors import InvalidValue


def check_release(terms: str, specification: str) -> None:
    """Raise InvalidValue unless a dataset of these stored terms has what the stored workload asks about."""
    # Imported here since the process that answers requests imports this module, and must not hold the planner.
    from sordino_analysis.curator.counts import check_part
    from sordino_analysis.curator.plan import check_size
    from sordino_analysis.kinds.specifications import parse_question
    from sordino_analysis.questions.linear import WorkloadSpecification
    from sordino_server.datasets.schemas import domain_of_terms

    asked = parse_question(json.loads(specification))
    if not isinstance(asked, WorkloadSpecification) or asked.asks_concepts:
        raise InvalidValue("a release answers linear queries: a pairwise statistic or a class of rules needs devices")
    workload = asked.build()
    check_part(domain_of_terms(terms), workload.domain)
    check_size(workload)
