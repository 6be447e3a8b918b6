"""The joint search as a candidate: the kernel and decoder with the least variance found for this workload."""

from __future__ import annotations

import numpy as np

from sordino_analysis.documents.decoders import Decoder
from sordino_analysis.evaluation.integer_kernels import answer_decoder, histogram_decoder, integer_kernel
from sordino_analysis.evaluation.weighted_decoder import weighted_decoder
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.optimisation.search import search_kernel
from sordino_analysis.optimisation.search.joint import KernelDesign
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.questions.linear.operators import Symmetry
from sordino_shared.randomizers import FiniteKernel

# One descent step of the search at 1024 types and four rows a type takes seconds on one core.
_MAX_TYPES = 1024
# Decoders of orbits know characters and overlaps only, which costs the maximum up to 3.5 % over nine types at ε = 4; a
# search over so few types takes a second and gains that. Over 32 types it ended 11 to 15 % above them at ε = 2 and 4.
_FEW_TYPES = 16
# Bytes of a decoder's matrix beyond which type weights are looked for in its place. All ranges over 64 types: 0.1 MB
# in place of 6 MB, in a second.
_LARGEST_MATRIX = 1 << 22


class OptimisedKernelMechanism:
    """Staircase rows in {1, e^ε}^k, their weights and an unbiased decoder, optimised jointly for the objective."""

    name = "optimised_kernel"

    def reason_against(self, work: SharedWork) -> str | None:
        request, size = work.request, work.request.workload.size
        solved = request.options.objective == "mean" or size > _FEW_TYPES
        if request.options.mechanism is None and request.workload.symmetry is Symmetry.ATTRIBUTES and solved:
            return "orbits of characters solve its problem for parities and marginals within seconds"
        if size > _MAX_TYPES:
            return f"{size} types; the search is made for at most {_MAX_TYPES}"
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
        return Proposal(kernel, _decoder(work, design, kernel), soft_variance=design.soft_variance)


def _decoder(work: SharedWork, design: KernelDesign, kernel: FiniteKernel) -> Decoder:
    """The design's own for the integers, by type weights where its matrix would be large."""
    if design.decoder is None:
        return histogram_decoder(kernel, design.type_weights)
    decoder = answer_decoder(kernel, design.decoder, work.matrix, design.type_weights)
    if len(decoder.matrix.data) <= _LARGEST_MATRIX:
        return work.plain_answers(decoder)
    compact = weighted_decoder(kernel, decoder, work.matrix, design.type_weights, work.deadline.passed)
    return compact or work.plain_answers(decoder)
