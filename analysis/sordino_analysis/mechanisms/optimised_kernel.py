"""The joint search as a candidate: the kernel and decoder with the least variance found for this workload."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sordino_analysis.documents.decoders import Decoder, WeightedDecoder
from sordino_analysis.evaluation.integer_kernels import answer_decoder, histogram_decoder, integer_kernel, probabilities
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.tuning import OPTIMISED_KERNEL
from sordino_analysis.optimisation.search import search_kernel
from sordino_analysis.optimisation.search.joint import KernelDesign
from sordino_analysis.optimisation.search.minimax_weights import minimax_weights
from sordino_analysis.optimisation.search.objectives import variances
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.linear.operators import Symmetry
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.randomizers import FiniteKernel

# Bytes of a decoder's matrix beyond which type weights are looked for in its place. All ranges over 64 types: 0.1 MB
# in place of 6 MB, in a second.
_LARGEST_MATRIX = 1 << 22
# Of the progress, and the number of groups of queries with half of that.
_SHARE_OF_DECODER, _USUAL_STEPS = 0.2, 50


class OptimisedKernelMechanism:
    """Staircase rows in {1, e^ε}^k, their weights and an unbiased decoder, optimised jointly for the objective."""

    name = "optimised_kernel"

    def reason_against(self, work: SharedWork) -> str | None:
        request, size = work.request, work.request.workload.size
        solved = request.options.objective == "mean" or size > OPTIMISED_KERNEL.few_types
        if request.options.mechanism is None and request.workload.symmetry is Symmetry.ATTRIBUTES and solved:
            return "orbits of characters solve its problem for parities and marginals within seconds"
        if size > OPTIMISED_KERNEL.max_types:
            return f"{size} types; the search is made for at most {OPTIMISED_KERNEL.max_types}"
        return work.solved_in_closed_form or work.too_large_for_dense

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request = work.request
        try:
            design = search_kernel(
                work.matrix,
                request.guarantee.epsilon,
                work.factorization(request.options.objective),
                effort=request.options.effort,
                seed=request.options.seed,
                deadline=work.deadline,
                progress=progress,
            )
        except (ValueError, np.linalg.LinAlgError) as error:
            raise MechanismFailed(f"the search found no balanced rows ({error})") from error
        kernel = integer_kernel(design.low, design.members, request.guarantee)
        decoder = _decoder(work, design, kernel, _Steps(work, progress).should_stop)
        return Proposal(kernel, decoder, soft_variance=design.soft_variance)


class _Steps:
    """Tells at every step that the search for a decoder goes on, without knowing how many follow."""

    def __init__(self, work: SharedWork, progress: ProgressCallback) -> None:
        self._work, self._progress, self._taken = work, progress, 0

    def should_stop(self) -> bool:
        """Whether the time is over; reports the progress."""
        self._taken += 1
        self._progress(Progress(1 - _SHARE_OF_DECODER / (1 + self._taken / _USUAL_STEPS)))
        return self._work.deadline.passed()


def _decoder(work: SharedWork, design: KernelDesign, kernel: FiniteKernel, should_stop: Callable[[], bool]) -> Decoder:
    """The design's own for the integers, or least squares; by type weights where its matrix would be large."""
    if work.request.options.objective == "mean":
        return histogram_decoder(kernel, design.type_weights)
    matrix, enough = work.matrix, 0.0
    large = 8 * len(matrix) * kernel.accumulator_size > _LARGEST_MATRIX
    table = probabilities(kernel)
    if design.decoder is not None:
        decoder = answer_decoder(kernel, design.decoder, matrix, design.type_weights)
        if not large:
            return work.plain_answers(decoder)
        enough = OPTIMISED_KERNEL.fit * float(variances(table, ndarray(decoder.matrix), matrix).max())
    type_weights = minimax_weights(table, matrix, design.type_weights, should_stop, enough)
    if large:
        return WeightedDecoder(array_of(type_weights.type_weights, "<f8"), array_of(type_weights.groups, "<i4"))
    rows = type_weights.decoder(table, matrix)
    return work.plain_answers(answer_decoder(kernel, rows, matrix, design.type_weights))
