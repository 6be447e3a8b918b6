"""The estimate of measures of numbers as a document, and what they truly are for users who are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.filling import cells_of_estimate
from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.estimation.linear import LinearEstimate, LinearEstimator
from sordino_analysis.estimation.normality import columns_of_laws
from sordino_analysis.kinds.linear_document import extras_of_round, terms_of_round
from sordino_analysis.kinds.numbers import NumberExtras, NumberRange
from sordino_analysis.planning.rounds import ClosedRound
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.columns import columns_of_queries
from sordino_analysis.questions.linear.numbers.building import ShownMeasure, scales_of, shown_measures
from sordino_shared.protocol import Manifest


def estimated(manifest: Manifest, closed: ClosedRound) -> EstimateDocument:
    """The document of one closed round; raises EstimationError."""
    plan, blanket = closed.plan, closed.blanket
    estimator = LinearEstimator.of(plan.device, plan.analyst).among(closed.aggregate, blanket)
    found = estimator.estimate(closed.aggregate)
    own = {"ranges": _ranges(estimator.workload), "scale": estimator.workload.scale}
    extras = extras_of_round(plan, found, blanket).model_dump() | own
    return EstimateDocument.of_columns(
        "numbers",
        _columns(estimator.workload, found),
        NumberExtras.model_validate(extras),
        **terms_of_round(str(manifest.campaign), plan, found.users, found.level),
        compared=estimator.workload.queries,
    )


def true_measures(workload: Workload, codes: NDArray[np.uint64]) -> list[float]:
    """The measures, as the document has them, for users with these members, (n, attributes)."""
    answers = workload.truth_of_codes(codes)
    return [float(answers[shown.row]) * (len(codes) if shown.is_sum else 1) for shown in _shown(workload)]


def _shown(workload: Workload) -> list[ShownMeasure]:
    assert isinstance(workload.published, NumberQueries)
    return shown_measures(workload.held_domain, workload.published)


def _columns(workload: Workload, found: LinearEstimate) -> dict[str, Sequence[Cell]]:
    """A row for each measure; a sum is the mean times the users who reported."""
    shown = _shown(workload)
    rows = [each.row for each in shown]
    factors = np.array([found.users if each.is_sum else 1 for each in shown])
    numbers = {name: (np.array(cells) * factors).tolist() for name, cells in cells_of_estimate(found, rows).items()}
    names = {"kind": [each.kind for each in shown], "label": [each.label for each in shown]}
    laws = columns_of_laws([found.normality[row] for row in rows])
    return {**columns_of_queries(workload, rows), **names, **numbers, **laws}


def _ranges(workload: Workload) -> list[NumberRange]:
    assert isinstance(workload.published, NumberQueries)
    return [
        NumberRange(attribute=scale.attribute.name, low=scale.low, high=scale.high, unit=scale.unit)
        for scale in scales_of(workload.held_domain, workload.published)
    ]
