"""Hadamard response as a candidate: about two rows a type, each a set of half the types of a block."""

from __future__ import annotations

import math

from sordino_analysis.mechanisms.drawn_families import drawn_kernel, reason_against_table
from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.mechanisms.set_families import hadamard_blocks
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.linear.operators import Symmetry


class HadamardResponseMechanism:
    """The sets of words orthogonal to a type's own, in the number of blocks that is best for the objective.

    Acharya, Sun, Zhang 2019: one block for small ε (their §4), about e^ε/2 blocks for a larger one (§5); here with the
    generalised least-squares decoder.
    """

    name = "hadamard_response"

    def reason_against(self, work: SharedWork) -> str | None:
        request = work.request
        if request.options.mechanism is None and request.workload.symmetry is Symmetry.ATTRIBUTES:
            return "orbits of characters solve its problem for parities and marginals within seconds"
        return reason_against_table(work)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        types, epsilon = work.request.workload.size, work.request.guarantee.epsilon
        wanted = math.log2(min((math.exp(epsilon) + 1) / 2, types / 2))
        families = [hadamard_blocks(types, 2**power) for power in sorted({math.floor(wanted), math.ceil(wanted)})]
        found = []
        for family in families:
            found.append(drawn_kernel([family], work, ignore_progress))
            progress(Progress(len(found) / len(families)))
        return min(found, key=lambda proposal: proposal.variance(work.request))
