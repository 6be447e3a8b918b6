"""Odd kernels as a candidate: half of the types at random, and on which side the value is, by randomised response."""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.integer_kernels import answer_decoder, integer_kernel
from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.mechanisms.tuning import SIGNS
from sordino_analysis.optimisation.bounds.odd import Oddness, oddness
from sordino_analysis.optimisation.search.sign_vectors import sign_design
from sordino_analysis.progress import Progress, ProgressCallback


class SignVectorsMechanism:
    """Sign vectors over pairs of types, drawn by the law with the least variance, for workloads that are odd.

    Up to ε = ln 3 the best of these kernels is the best of all.
    """

    name = "sign_vectors"

    def reason_against(self, work: SharedWork) -> str | None:
        if work.request.guarantee.epsilon > math.log(3):
            return "above ε = ln 3 halves of the types are too large"
        if work.request.workload.size > 2 * SIGNS.most_pairs:
            return f"{work.request.workload.size} types; it is made for at most {2 * SIGNS.most_pairs}"
        reason = work.solved_in_closed_form or work.too_large_for_dense
        if reason is not None:
            return reason
        odd = oddness(work.matrix)
        if odd is None:
            return "no exchange of types takes every query to its negative"
        if (odd.partner == np.arange(len(odd.partner))).any():
            return "some types have no opposite"
        return None

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        odd, epsilon = oddness(work.matrix), work.request.guarantee.epsilon
        assert odd is not None, "the reason against it would say so"
        first = np.flatnonzero(np.arange(len(odd.partner)) < odd.partner)
        folded = (work.matrix - odd.centre[:, None])[:, first]
        varying = np.abs(folded).max(axis=1) > 0
        options = work.request.options
        design = sign_design(
            folded[varying], options.objective, options.seed, work.deadline.sooner(SIGNS.share_of_time)
        )
        progress(Progress(0.9))
        members = _whole(design.signs, first, odd) > 0
        low = np.tile(design.chances, 2) / (1 + math.exp(epsilon))
        kernel = integer_kernel(low, members, work.request.guarantee)
        told = folded @ np.linalg.inv((design.signs.T * design.chances) @ design.signs) @ design.signs.T
        rows = odd.centre[:, None] + np.hstack([told, -told]) / math.tanh(epsilon / 2)
        even = np.full(work.matrix.shape[1], 1 / work.matrix.shape[1])
        decoder = answer_decoder(kernel, rows, work.matrix, even)
        progress(Progress(1.0))
        return Proposal(kernel, work.plain_answers(decoder))


def _whole(signs: Floats, first: np.ndarray[tuple[int], np.dtype[np.intp]], odd: Oddness) -> Floats:
    """(2m, k) the sign vectors on all types, then their opposites."""
    whole = np.zeros((len(signs), len(odd.partner)))
    whole[:, first], whole[:, odd.partner[first]] = signs, -signs
    return np.vstack([whole, -whole])
