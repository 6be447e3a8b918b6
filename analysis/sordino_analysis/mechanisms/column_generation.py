"""Column generation as a candidate: the least mean variance of a few types, to a thousandth, without a search."""

from __future__ import annotations

import numpy as np

from sordino_analysis.evaluation.integer_kernels import answer_decoder, histogram_decoder, integer_kernel
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.tuning import COLUMN_GENERATION
from sordino_analysis.optimisation.search.column_generation import (
    MOST_TYPES,
    WeightedRows,
    generate_columns,
    settle_columns,
    unevenness,
)
from sordino_analysis.optimisation.search.cone_program import ConeDesign, ConeProgramFailed
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.linear.operators import Symmetry


class ColumnGenerationMechanism:
    """From the single types: weights by Newton's method, rows by their prices, until none lowers the mean variance."""

    name = "column_generation"

    def reason_against(self, work: SharedWork) -> str | None:
        request = work.request
        if request.options.objective != "mean":
            return "it lowers the mean variance only"
        if request.options.mechanism is None and request.workload.symmetry is Symmetry.ATTRIBUTES:
            return "orbits of characters solve its problem for parities and marginals within seconds"
        limit = COLUMN_GENERATION.max_types if request.options.mechanism is None else MOST_TYPES
        if request.workload.size > limit:
            return f"{request.workload.size} types; from scratch it is made for at most {limit}"
        return work.solved_in_closed_form or work.too_large_for_dense

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        size, epsilon = work.request.workload.size, work.request.guarantee.epsilon
        uniform = np.full(size, 1.0 / size)
        start = WeightedRows(np.eye(size, dtype=bool), np.full(size, 1.0 / (np.exp(epsilon) + size - 1)), uniform)
        try:
            rows = generate_columns(work.matrix, epsilon, start, COLUMN_GENERATION.rounds, work.deadline.passed)
        except np.linalg.LinAlgError as error:
            raise MechanismFailed(f"single types do not make a start ({error})") from error
        progress(Progress(1.0))
        settled = None if work.deadline.passed() else _settled(work, rows)
        if settled is not None:
            kernel = integer_kernel(settled.low, settled.members, work.request.guarantee)
            decoder = answer_decoder(kernel, settled.decoder, work.matrix, settled.type_weights)
            return Proposal(kernel, work.plain_answers(decoder))
        kernel = integer_kernel(rows.weights, rows.members, work.request.guarantee)
        return Proposal(kernel, histogram_decoder(kernel, rows.type_weights))


def _settled(work: SharedWork, rows: WeightedRows) -> ConeDesign | None:
    """The end of the search by cone programs, where its type weights have not come to rest; None where they have."""
    epsilon, matrix = work.request.guarantee.epsilon, work.matrix
    dimensions = min(len(matrix), matrix.shape[1]) * len(rows.members)
    if unevenness(matrix, epsilon, rows) <= COLUMN_GENERATION.at_rest or dimensions > COLUMN_GENERATION.largest_program:
        return None
    try:
        return settle_columns(matrix, epsilon, rows.members, work.deadline.passed)
    except ConeProgramFailed:
        return None
