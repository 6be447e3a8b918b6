"""Subset selection as a candidate, at the size that is best for the stated objective."""

from __future__ import annotations

from sordino_analysis.evaluation.accumulator_moments import selection_moments
from sordino_analysis.mechanisms.least_variances import least_of_equal_types
from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.mechanisms.randomized_response import inverse_decoder, reason_of_size
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.mechanisms.tuning import SUBSET_SELECTION
from sordino_analysis.progress import ProgressCallback
from sordino_shared.randomizers import SubsetSelection


class SubsetSelectionMechanism:
    """A random subset of one size with the inverse of its inclusion chances as decoder."""

    name = "subset_selection"

    def reason_against(self, work: SharedWork) -> str | None:
        if work.request.workload.size == 2:
            return "with two types it is randomized response"
        return reason_of_size(work)

    def least_variance(self, work: SharedWork) -> float | None:
        return None if self.reason_against(work) else least_of_equal_types(work)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        values: dict[int, float] = {}

        def value(subset_size: int) -> float:
            if subset_size not in values:
                values[subset_size] = _proposal(work.request, subset_size).variance(work.request)
            return values[subset_size]

        types = work.request.workload.size
        best = min(_coarse_sizes(types), key=value)
        step = max(1, best // 4)
        while step:
            better = min(_neighbours(best, step, types), key=value)
            step = step // 2 if better == best else step
            best = better
        return _proposal(work.request, best)


def _proposal(request: PlanRequest, subset_size: int) -> Proposal:
    randomizer = SubsetSelection.for_guarantee(request.workload.size, subset_size, request.guarantee)
    return Proposal(randomizer, inverse_decoder(selection_moments(randomizer)))


def _coarse_sizes(types: int) -> list[int]:
    sizes, size = [], 1.0
    while size < types:
        sizes.append(int(size))
        size = max(size + 1, size * SUBSET_SELECTION.coarse_step)
    return sizes


def _neighbours(size: int, step: int, types: int) -> list[int]:
    return [near for near in (size, size - step, size + step) if 1 <= near < types]
