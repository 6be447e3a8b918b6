"""The plan of one round of a protocol, sealed: ε proved, figures exact, limits computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import AnalystPart, Factors
from sordino_analysis.documents.certificate import Certificate, LowerBound
from sordino_analysis.documents.decoders import AnswerDecoder, HistogramDecoder
from sordino_analysis.documents.queries import MatrixQueries
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.optimisation.bounds import trace_bound
from sordino_analysis.optimisation.factorization import factorize
from sordino_analysis.planning.rounds import RoundPlan
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.audit import check_guarantee
from sordino_shared.domains import Domain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import AnyRandomizer

# The limit is for information here: no choice among mechanisms depends on it.
_GAP = 0.05


@dataclass(frozen=True, eq=False)
class RoundQueries:
    """What one round measures linearly: rows (Q, k) over the cells of a domain, with a label each."""

    name: str
    domain: Domain
    matrix: Floats
    labels: tuple[str, ...]


def seal(
    queries: RoundQueries,
    guarantee: PureEpsilon,
    randomizer: AnyRandomizer,
    decoder: AnswerDecoder | HistogramDecoder,
    mechanism: str,
    seed: int,
    factors: Factors | None = None,
) -> RoundPlan:
    """Both parts of the plan; raises GuaranteeNotMet where the randomizer's integers prove more than `guarantee`."""
    device = DevicePart(queries.domain, guarantee, randomizer)
    check_guarantee(device)
    published = MatrixQueries(array_of(queries.matrix, "<f8"), queries.labels)
    workload = build_workload(queries.domain, published, queries.name)
    analyst = AnalystPart(
        device_digest=device.digest,
        workload=queries.name,
        queries=published,
        mechanism=mechanism,
        objective="mean",
        seed=seed,
        decoder=decoder,
        factors=factors,
        certificate=Certificate(_limit(queries.matrix, guarantee, "max"), _limit(queries.matrix, guarantee, "mean")),
        figures=answer_moments(randomizer, decoder, workload).profile().figures(),
    )
    return RoundPlan(device, analyst)


def _limit(matrix: Floats, guarantee: PureEpsilon, objective: Objective) -> LowerBound:
    bound = trace_bound(matrix, guarantee.epsilon, objective, factorize(matrix, objective, _GAP))
    return LowerBound(bound.value, array_of(bound.query_weights, "<f8"), array_of(bound.type_weights, "<f8"))


def answers_from(matrix: Floats) -> AnswerDecoder:
    """answers = F s̄ without an offset. `matrix` F (Q, p)."""
    return AnswerDecoder(array_of(matrix, "<f8"), array_of(np.zeros(len(matrix)), "<f8"))
