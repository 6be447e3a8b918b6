"""Half-spaces of the factor's geometry as a candidate: a finite kernel from random directions, seconds for any k."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from sordino_analysis.arrays import NEARLY_ZERO, Floats, Mask
from sordino_analysis.evaluation.integer_kernels import histogram_decoder, integer_kernel, probabilities
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.tuning import CODEBOOK
from sordino_analysis.optimisation.search.balanced_rows import balanced_weights
from sordino_analysis.optimisation.search.objectives import gls_decoder, variances
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_shared.randomizers import FiniteKernel

# Two levels of 8 bytes a row.
_LEVEL_BYTES = 16
# What a device part takes beside rows.
_DOMAIN_BYTES = 1 << 10
# A name of a type.
_DOMAIN_BYTES_PER_TYPE = 16


class HyperplaneCodebookMechanism:
    """Sets {x: ⟨g, r_x⟩ > Φ⁻¹(1 − q)}, q = 1/(e^ε + 1), for the normalised columns r_x of R and Gaussian directions ±g.

    Their weights are fixed so that columns sum to one; the decoder is generalised least squares under type weights
    that are uniform for "mean" and raised where the worst query's variance is for "max".
    """

    name = "hyperplane_codebook"

    def reason_against(self, work: SharedWork) -> str | None:
        size = work.request.workload.size
        if size > CODEBOOK.max_types:
            return f"{size} types; its table is made for at most {CODEBOOK.max_types}"
        return work.solved_in_closed_form or work.too_large_for_dense

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request = work.request
        right = work.factorization(request.options.objective).right
        try:
            members, weights = _balanced(right, request.guarantee.epsilon, request.options.seed)
        except (ValueError, np.linalg.LinAlgError) as error:
            raise MechanismFailed(f"no weights make its columns sum to one ({error})") from error
        kernel = integer_kernel(weights, members, request.guarantee)
        progress(Progress(0.5))
        type_weights = _type_weights(work, kernel, progress)
        return Proposal(kernel, histogram_decoder(kernel, type_weights))


def _balanced(right: Floats, epsilon: float, seed: int) -> tuple[Mask, Floats]:
    """Sets and their weights, with single types among them where half-spaces alone leave some type out."""
    members, weights = _half_spaces(right, epsilon, seed)
    try:
        return members, _balanced_weights(members, weights, epsilon)
    except (ValueError, np.linalg.LinAlgError):
        types = members.shape[1]
        single = np.full(types, CODEBOOK.share_of_singles * max(weights.sum(), 1.0) / types)
        members, weights = _merged(np.vstack([members, np.eye(types, dtype=bool)]), np.append(weights, single))
        return members, _balanced_weights(members, weights, epsilon)


def _balanced_weights(members: Mask, weights: Floats, epsilon: float) -> Floats:
    levels = np.where(members, np.exp(epsilon), 1.0)
    return balanced_weights(levels, weights / (levels.T @ weights).mean())


def _half_spaces(right: Floats, epsilon: float, seed: int) -> tuple[Mask, Floats]:
    """(m, k) sets and (m,) how often each was drawn."""
    types = right.shape[1]
    lengths = np.sqrt((right**2).sum(axis=0))
    columns = right / np.maximum(lengths, NEARLY_ZERO * lengths.max())
    rows = max(min(CODEBOOK.rows_per_type * types, _affordable_rows(types)), CODEBOOK.fewest_rows_per_type * types)
    generator = np.random.Generator(np.random.PCG64(seed))
    projections = generator.standard_normal((rows // 2, len(right))) @ columns
    # At a large ε a set holds about one type, not fewer.
    threshold = -float(ndtri(max(1 / (np.exp(epsilon) + 1), 1 / types)))
    return _merged(np.vstack([projections > threshold, -projections > threshold]), np.ones(2 * (rows // 2)))


def _affordable_rows(types: int) -> int:
    """How many rows fit a device part of 64 KiB up to 128 types and half a KiB a type beyond."""
    room = max(CODEBOOK.least_bytes, CODEBOOK.bytes_per_type * types) - _DOMAIN_BYTES - _DOMAIN_BYTES_PER_TYPE * types
    return room // (_LEVEL_BYTES + (types + 7) // 8)


def _merged(members: Mask, weights: Floats) -> tuple[Mask, Floats]:
    """Equal sets become one with the sum of their weights; nothing and everything are left out: they tell nothing."""
    telling = members.any(axis=1) & ~members.all(axis=1)
    distinct, inverse = np.unique(members[telling], axis=0, return_inverse=True)
    summed: Floats = np.zeros(len(distinct))
    np.add.at(summed, inverse.ravel(), weights[telling])
    return distinct, summed


def _type_weights(work: SharedWork, kernel: FiniteKernel, progress: ProgressCallback) -> Floats:
    size = kernel.size
    weights = np.full(size, 1.0 / size)
    table, matrix = probabilities(kernel), work.matrix
    operations = 2.0 * len(table) * size * (size + 2 * len(matrix))
    times = int(min(CODEBOOK.most_reweightings, CODEBOOK.reweighting_operations // operations))
    best, least = weights, np.inf
    for step in range(times):
        by_query_and_type = variances(table, gls_decoder(table, matrix, weights), matrix)
        by_type = (
            by_query_and_type.max(axis=0) if work.request.options.objective == "max" else by_query_and_type.mean(axis=0)
        )
        if by_type.max() < least:
            best, least = weights, float(by_type.max())
        moved = weights * np.maximum(by_type, 0) / by_type.max()
        weights = moved / moved.sum()
        progress(Progress(0.5 + 0.5 * (step + 1) / times))
        if work.deadline.passed():
            break
    return best
