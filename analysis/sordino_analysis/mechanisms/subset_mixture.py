"""The optimal mixture of subset sizes as a candidate: for a histogram nothing has a smaller variance."""

from __future__ import annotations

import numpy as np

from sordino_analysis.documents.decoders import SubsetDecoder
from sordino_analysis.evaluation.accumulator_moments import SizeMixtureMoments, mixture_moments
from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.mechanisms.randomized_response import reason_of_size
from sordino_analysis.optimisation.symmetry.subset_sizes import best_mixture, decoder_values
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.questions.linear.operators import Symmetry
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.randomizers import SubsetMixture


class SubsetMixtureMechanism:
    """Subset selection at a random one of the best sizes, with the decoder for each size's inclusion probabilities."""

    name = "subset_mixture"

    def reason_against(self, work: SharedWork) -> str | None:
        workload = work.request.workload
        if workload.symmetry is not Symmetry.TYPES:
            return "the queries are not a histogram"
        if workload.size == 2:
            return "with two types it is randomized response"
        return reason_of_size(work)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request = work.request
        types, guarantee = request.workload.size, request.guarantee
        best = best_mixture(types, guarantee.epsilon, request.options.objective)
        randomizer = SubsetMixture.for_guarantee(types, best.sizes, best.chances, guarantee)
        return Proposal(randomizer, mixture_decoder(mixture_moments(randomizer), best.sizes, best.own_weight))


def mixture_decoder(law: SizeMixtureMoments, sizes: tuple[int, ...], own_weight: float) -> SubsetDecoder:
    """The decoder with the least variance where the own type weighs `own_weight`, for the chances that are shipped."""
    own = np.array([float(part.own) for part in law.parts])
    other = np.array([float(part.other) for part in law.parts])
    inside, outside = decoder_values(own, other, np.array(law.chances), own_weight)
    return SubsetDecoder(array_of(inside - outside, "<f8"), array_of(outside / np.array(sizes), "<f8"))
