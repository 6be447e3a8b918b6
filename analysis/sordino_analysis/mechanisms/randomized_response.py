"""Randomized response as a candidate: one index a report, the best there is for few types or a large ε."""

from __future__ import annotations

from sordino_analysis.documents.decoders import ScaledHistogramDecoder
from sordino_analysis.evaluation.accumulator_moments import ExchangeableMoments, response_moments
from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.progress import ProgressCallback
from sordino_shared.randomizers import RandomizedResponse
from sordino_shared.randomizers.base import MAX_DEVICE_TYPES


class RandomizedResponseMechanism:
    """k-ary randomized response with the inverse of its kernel as decoder."""

    name = "randomized_response"

    def reason_against(self, work: SharedWork) -> str | None:
        return too_many_types(work)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request = work.request
        randomizer = RandomizedResponse.for_guarantee(request.workload.size, request.guarantee)
        return Proposal(randomizer, inverse_decoder(response_moments(randomizer)))


def too_many_types(work: SharedWork) -> str | None:
    """Why a closed-form randomizer cannot hold the domain, or None."""
    size = work.request.workload.size
    return f"{size} types; a device holds at most {MAX_DEVICE_TYPES}" if size > MAX_DEVICE_TYPES else None


def inverse_decoder(law: ExchangeableMoments) -> ScaledHistogramDecoder:
    """ĥ = (s̄ − q)/(p − q) entry by entry, for the chances p and q of counting the own type and another one."""
    span = law.own - law.other
    return ScaledHistogramDecoder(float(1 / span), float(-law.other / span))
