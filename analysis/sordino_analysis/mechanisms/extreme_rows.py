"""All staircase rows over a few types: optimal among kernels, up to the solver's tolerance."""

from __future__ import annotations

from sordino_analysis.evaluation.integer_kernels import answer_decoder, histogram_decoder, integer_kernel
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.tuning import EXTREME_ROWS
from sordino_analysis.optimisation.search.cone_program import ConeProgramFailed, all_sets, solve_cone_program
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.linear.operators import Symmetry

# Beyond it a decoder of the histogram is smaller, and a few per mille worse at ε = 8.
_LARGEST_DECODER = 1 << 16


class ExtremeRowsMechanism:
    """Every staircase row in {1, e^ε}^k, weighted by a cone program together with the decoder."""

    name = "extreme_rows"

    def reason_against(self, work: SharedWork) -> str | None:
        workload = work.request.workload
        if workload.size > EXTREME_ROWS.max_types:
            return f"{workload.size} types; all extreme rows are listed for at most {EXTREME_ROWS.max_types}"
        cones = workload.queries << workload.size
        if work.request.options.objective == "max" and cones > EXTREME_ROWS.most_cones:
            return f"{cones} cones of a query and a row; the program is made for at most {EXTREME_ROWS.most_cones}"
        if work.request.options.mechanism is None and workload.symmetry is Symmetry.TYPES:
            return work.solved_in_closed_form
        return work.too_large_for_dense

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request, matrix = work.request, work.matrix
        try:
            sets = all_sets(request.workload.size)
            design = solve_cone_program(matrix, sets, request.guarantee.epsilon, request.options.objective)
        except ConeProgramFailed as failure:
            raise MechanismFailed(str(failure)) from failure
        progress(Progress(1.0))
        kernel = integer_kernel(design.low, design.members, request.guarantee)
        if design.decoder.size > _LARGEST_DECODER:
            return Proposal(kernel, histogram_decoder(kernel, design.type_weights))
        decoder = answer_decoder(kernel, design.decoder, matrix, design.type_weights)
        return Proposal(kernel, work.plain_answers(decoder))
