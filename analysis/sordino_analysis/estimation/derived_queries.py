"""Decoders of queries that a plan was not made for, as far as its reports tell them."""

from __future__ import annotations

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import AnswerDecoder, PlainDecoder, ToHistogram
from sordino_analysis.estimation.linear_estimate import EstimationError
from sordino_analysis.questions.linear import Workload
from sordino_shared.arrays import Array
from sordino_shared.randomizers import AnyRandomizer

# What a combination of the plan's queries may miss of a query that it stands for.
_MOST_RESIDUE = 1e-8


def derived_decoder(
    decoder: PlainDecoder, randomizer: AnyRandomizer, workload: Workload, derived: Workload
) -> PlainDecoder:
    """The decoder for the queries of `derived` of a plan that has `decoder` for those of `workload`.

    A decoder of histograms serves any query. Of others, a query has the answer of the workload's query that it is, or
    is one without; else it is the combination of queries of least squares. Raises EstimationError where there is none.
    """
    if isinstance(decoder, ToHistogram):
        return decoder
    if not isinstance(decoder, AnswerDecoder):
        raise EstimationError("this plan answers the queries of its workload only")
    combined, constant = _combinations(workload.operator.dense(), derived)
    rows, offsets = combined @ decoder.matrix.numpy(), combined @ decoder.offset.numpy() + constant
    return AnswerDecoder(Array.of(rows, "<f8"), Array.of(offsets, "<f8"))


def _combinations(matrix: Floats, derived: Workload) -> tuple[Floats, Floats]:
    """C (m, Q) and c (m,) with C W + c 1ᵀ = V."""
    wanted = derived.operator.dense()
    combined, constant = np.zeros((len(wanted), len(matrix))), np.zeros(len(wanted))
    other = np.ones(len(wanted), dtype=bool)
    places = {row.tobytes(): query for query, row in reversed(list(enumerate(matrix + 0.0)))}
    for place, row in enumerate(wanted):
        for sign, whole, same in ((1.0, 0.0, row), (-1.0, 1.0, 1 - row)):
            query = places.get((same + 0.0).tobytes())
            if other[place] and query is not None:
                combined[place, query], constant[place], other[place] = sign, whole, False
    if other.any():
        fitted = _fitted(np.vstack([matrix, np.ones(matrix.shape[1])]), wanted[other])
        combined[other], constant[other] = fitted[:, :-1], fitted[:, -1]
        missed = np.abs(fitted[:, :-1] @ matrix + fitted[:, -1:] - wanted[other]).max(axis=1)
        if missed.max() > _MOST_RESIDUE:
            label = derived.label(int(np.flatnonzero(other)[missed.argmax()]))
            raise EstimationError(
                f"the plan's queries do not determine the answer to {label!r}: make a plan for a workload that asks it"
            )
    return combined, constant


def _fitted(matrix: Floats, wanted: Floats) -> Floats:
    """(m, Q) the shortest combinations of rows of the matrix (Q, k) that come nearest to `wanted` (m, k)."""
    queries, types = matrix.shape
    if queries <= types:
        return np.asarray(np.linalg.lstsq(matrix.T, wanted.T)[0].T)
    # (WᵀW)⁺ of the types, which are fewer.
    return np.asarray((matrix @ np.linalg.lstsq(matrix.T @ matrix, wanted.T)[0]).T)
