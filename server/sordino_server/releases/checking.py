"""Whether a workload can be asked of a dataset, before anything is spent; checked in a process of its own."""

from __future__ import annotations

import json

from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exact_decimal


def check_release(terms: str, specification: str, mechanism: str | None) -> None:
    """Raise InvalidValue unless a dataset of these stored terms has what the stored workload asks about.

    Or where a mechanism that is named cannot answer it.
    """
    # Imported here since the process that answers requests imports this module, and must not hold the planner.
    from sordino_analysis.curator.counts import check_part
    from sordino_analysis.curator.plan import check_size
    from sordino_analysis.curator.projected_plan import PROJECTIONS, check_projection
    from sordino_analysis.kinds.specifications import parse_question
    from sordino_analysis.questions.linear import WorkloadSpecification
    from sordino_server.datasets.schemas import domain_of_terms

    asked = parse_question(json.loads(specification))
    if not isinstance(asked, WorkloadSpecification) or asked.asks_concepts:
        raise InvalidValue("a release answers linear queries: a pairwise statistic or a class of rules needs devices")
    workload = asked.build()
    check_part(domain_of_terms(terms), workload.domain)
    if mechanism in PROJECTIONS:
        check_projection(mechanism, workload, json.loads(terms)["neighbours"])
    else:
        check_size(workload)


def rho_within(epsilon: str, delta: str) -> str:
    """The largest ρ that is proved to imply (ε, δ), in decimals; raises InvalidValue."""
    # Imported here, as it comes with a library of optimisation.
    from sordino_analysis.guarantees.approximate import Approximate, zcdp_within
    from sordino_analysis.guarantees.written_chance import chance_of

    bound = Approximate(PureEpsilon.at_most(epsilon).nano, chance_of(delta))
    return exact_decimal(zcdp_within(bound).nano_rho)
