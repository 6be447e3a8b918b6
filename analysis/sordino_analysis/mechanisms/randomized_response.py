"""Randomized response as a candidate: one index a report, the best there is for few types or a large ε."""

from __future__ import annotations

from sordino_analysis.documents.decoders import ScaledHistogramDecoder
from sordino_analysis.evaluation.accumulator_moments import ExchangeableMoments, response_moments
from sordino_analysis.mechanisms.least_variances import least_of_equal_types
from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.mechanisms.tuning import RESPONSE
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.questions.linear.operators import Symmetry
from sordino_shared.randomizers import RandomizedResponse
from sordino_shared.randomizers.base import MAX_DEVICE_TYPES


class RandomizedResponseMechanism:
    """k-ary randomized response with the inverse of its kernel as decoder."""

    name = "randomized_response"

    def reason_against(self, work: SharedWork) -> str | None:
        return reason_of_size(work)

    def least_variance(self, work: SharedWork) -> float | None:
        return None if self.reason_against(work) else least_of_equal_types(work)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request = work.request
        randomizer = RandomizedResponse.for_guarantee(request.workload.size, request.guarantee)
        return Proposal(randomizer, inverse_decoder(response_moments(randomizer)))


def reason_of_size(work: SharedWork) -> str | None:
    """Why a randomizer of single types does not fit a device or is larger to send than one as good, or None.

    Its figures are compared at any size: they are formulas.
    """
    size = work.request.workload.size
    if size > MAX_DEVICE_TYPES:
        return f"{size} types; a device holds at most {MAX_DEVICE_TYPES}"
    if not work.request.workload.is_listed:
        return f"{size} items, which are not listed"
    chosen_freely = (
        work.request.options.mechanism is None and work.request.guarantee.epsilon <= RESPONSE.largest_epsilon
    )
    if chosen_freely and size > RESPONSE.largest_set and work.request.workload.symmetry is Symmetry.TYPES:
        return f"a set of {size} types is large to send; coarsened_histogram is within 2 % of it in a few bytes"
    return None


def inverse_decoder(law: ExchangeableMoments) -> ScaledHistogramDecoder:
    """ĥ = (s̄ − q)/(p − q) entry by entry, for the chances p and q of counting the own type and another one."""
    span = law.own - law.other
    return ScaledHistogramDecoder(float(1 / span), float(-law.other / span))
