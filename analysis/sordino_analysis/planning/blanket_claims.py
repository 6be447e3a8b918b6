"""The points of a privacy profile that a plan claims of its blanket, and the proof of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from sordino_analysis.documents.blanket_terms import BlanketTerms
from sordino_analysis.guarantees.approximate import Approximate
from sordino_analysis.guarantees.blanket import law_of_sum, loss_law
from sordino_shared.guarantees import NANO
from sordino_shared.protocol import DevicePart
from sordino_shared.protocol.routes import LEAST_ATTO_DELTA, WHOLE_ATTO, PrivacyClaim
from sordino_shared.randomizers import AnyRandomizer
from sordino_shared.shuffling.claims import least_claim
from sordino_shared.shuffling.profile import delta_of

# ε of the points, as parts of the ε asked for: eleven and the headline.
_PARTS = tuple(map(Fraction, ("1/4", "2/5", "3/5", "4/5", "6/5", "3/2", "2", "5/2", "3", "4", "6")))


def blanket_terms(device: DevicePart, reports: int, bound: Approximate) -> BlanketTerms:
    """Up to 12 claims below the ε of the device part: the `bound`, and others for accounts of several rounds."""
    headline = PrivacyClaim(bound.nano_epsilon, int(bound.delta * WHOLE_ATTO))
    points = {int(bound.nano_epsilon * part) for part in _PARTS} - {bound.nano_epsilon}
    others = [nano for nano in points if 0 < nano < device.guarantee.nano]
    claims = [PrivacyClaim(nano, provable(device.randomizer, reports, nano)) for nano in others]
    falling = tuple(_falling(sorted([*claims, headline], key=lambda claim: claim.nano_epsilon), headline))
    return BlanketTerms(reports, falling, falling.index(headline))


def provable(randomizer: AnyRandomizer, reports: int, nano_epsilon: int) -> int:
    """The least δ of one report among `reports` random ones that may be claimed, in 10⁻¹⁸."""
    law = loss_law(randomizer, math.exp(nano_epsilon / NANO))
    return max(LEAST_ATTO_DELTA, least_claim(delta_of(law, reports, law_of_sum)))


def _falling(claims: list[PrivacyClaim], headline: PrivacyClaim) -> Iterator[PrivacyClaim]:
    """The claims whose δ falls with every ε, the headline among them: none at a smaller ε says as much."""
    last = WHOLE_ATTO + 1
    for claim in claims:
        before = claim.nano_epsilon < headline.nano_epsilon
        if claim.atto_delta < last and not (before and claim.atto_delta <= headline.atto_delta):
            yield claim
            last = claim.atto_delta
